#include "device/webgpu/webgpu_launch.h"

#include <algorithm>

namespace tapml::device {

namespace {

using runtime::BufferArg;
using runtime::LaunchArgs;
using Access = WebGpuKernel::Access;

Status check_arguments(const WebGpuContext& context, const WebGpuKernel& kernel,
                       const LaunchArgs& args) {
  auto refuse = [&](const std::string& what) {
    return fail(
        platform_error(PlatformFault::kLimit, "kernel " + kernel.entry() + " " + what, "webgpu"));
  };
  if (kernel.access().size() != args.buffers.size()) {
    return fail(internal_error("kernel " + kernel.entry() + " declares " +
                                   std::to_string(kernel.access().size()) + " buffers for " +
                                   std::to_string(args.buffers.size()),
                               "webgpu"));
  }
  const Limits& limits = context.info().limits;
  if (args.workgroup_threads > limits.max_workgroup_threads) {
    return refuse("asks for work groups of " + std::to_string(args.workgroup_threads) +
                  " threads; this adapter allows " + std::to_string(limits.max_workgroup_threads));
  }
  for (size_t i = 0; i < args.buffers.size(); ++i) {
    if (args.buffers[i].offset % limits.buffer_alignment == 0) continue;
    return refuse("gets buffer " + std::to_string(i) + " at byte " +
                  std::to_string(args.buffers[i].offset) + "; WebGPU requires multiples of " +
                  std::to_string(limits.buffer_alignment));
  }
  for (size_t i = 0; i <= args.scalars.size(); ++i) {
    const bool is_extent = i == args.scalars.size();
    const int64_t value = is_extent ? args.extent : args.scalars[i];
    if (value == static_cast<int32_t>(value)) continue;
    return refuse((is_extent ? "has the extent " : "gets scalar " + std::to_string(i) + ", ") +
                  std::to_string(value) + "; WGSL has only 32-bit integers");
  }
  return {};
}

// The bytes from argument `i` to the next one of its memory, or to the memory's end.
int64_t bytes_of(std::span<const BufferArg> buffers, size_t i) {
  const BufferArg& own = buffers[i];
  int64_t end = webgpu_memory(*own.memory).buffer_bytes();
  for (const BufferArg& other : buffers) {
    if (other.memory == own.memory && other.offset > own.offset) end = std::min(end, other.offset);
  }
  return end - own.offset;
}

// Whether argument `i` keeps its memory, of those that begin at the same byte: the one that is
// written, else the first one.
Result<bool> keeps_memory(const WebGpuKernel& kernel, std::span<const BufferArg> buffers,
                          size_t i) {
  const bool written = kernel.access()[i] != Access::kIn;
  bool first = true;
  for (size_t j = 0; j < buffers.size(); ++j) {
    if (j == i || buffers[j].memory != buffers[i].memory ||
        buffers[j].offset != buffers[i].offset) {
      continue;
    }
    const bool other_written = kernel.access()[j] != Access::kIn;
    if (written && other_written) {
      return fail(internal_error("kernel " + kernel.entry() + " writes buffers " +
                                     std::to_string(std::min(i, j)) + " and " +
                                     std::to_string(std::max(i, j)) + ", which are one memory",
                                 "webgpu"));
    }
    if (other_written || (!written && j < i)) first = false;
  }
  return first;
}

uint32_t group_count(const WebGpuContext& context, int64_t asked) {
  return static_cast<uint32_t>(std::clamp<int64_t>(asked, 1, context.most_groups()));
}

}  // namespace

Status add_launch(WebGpuContext& context, WebGpuKernel& kernel, const LaunchArgs& args) {
  TAPML_TRY(check_arguments(context, kernel, args));
  TAPML_ASSIGN(const uint32_t pipeline, kernel.pipeline(args.workgroup_threads, args.shared));
  std::vector<uint32_t> words = {
      pipeline,
      group_count(context, (args.extent - 1) / std::max<int64_t>(1, args.workgroup_threads) + 1),
      group_count(context, args.grid[0]),
      group_count(context, args.grid[1]),
      static_cast<uint32_t>(args.buffers.size()),
      static_cast<uint32_t>(args.scalars.size() + 1),
  };
  size_t copies = 0;
  for (size_t i = 0; i < args.buffers.size(); ++i) {
    const BufferArg& argument = args.buffers[i];
    const WebGpuMemory& memory = webgpu_memory(*argument.memory);
    if (argument.offset >= memory.buffer_bytes()) {
      TAPML_ASSIGN(const uint32_t empty, context.empty_buffer(i));
      words.insert(words.end(), {empty, 0, 16});
      continue;
    }
    const auto bytes = static_cast<uint32_t>(
        std::min(bytes_of(args.buffers, i), context.info().limits.max_binding_bytes));
    uint32_t buffer = memory.buffer();
    auto offset = static_cast<uint32_t>(argument.offset);
    TAPML_ASSIGN(const bool keeps, keeps_memory(kernel, args.buffers, i));
    if (!keeps) {
      TAPML_ASSIGN(const uint32_t aside, context.aside(copies++, bytes));
      TAPML_TRY(context.add(GpuCommand::kCopy, {buffer, offset, aside, 0, bytes}));
      buffer = aside;
      offset = 0;
    }
    words.insert(words.end(), {buffer, offset, bytes});
  }
  for (const int64_t scalar : args.scalars) words.push_back(static_cast<uint32_t>(scalar));
  words.push_back(static_cast<uint32_t>(args.extent));
  return context.add(GpuCommand::kDispatch, words);
}

}  // namespace tapml::device
