#include <algorithm>
#include <array>

#include "device/opencl/cl_context.h"

namespace tapml::device {

namespace {

using runtime::BufferArg;
using runtime::DeviceEvent;
using runtime::DeviceKernel;
using runtime::DeviceMemory;
using runtime::DeviceQueue;
using runtime::LaunchArgs;

// Smaller writes are staged and need no wait.
constexpr size_t kStagedBytes = 64 << 10;
constexpr size_t kMaxStaged = 256;

cl_mem handle_of(DeviceMemory& memory) { return static_cast<ClMemory&>(memory).handle(); }

class ClEvent final : public DeviceEvent {
 public:
  explicit ClEvent(ClObject<cl_event> event) : event(std::move(event)) {}
  const ClObject<cl_event> event;
};

// Staged bytes of a write in progress.
struct Staged {
  std::vector<std::byte> bytes;
  ClObject<cl_event> written;
};

// Ok(true) when the event is complete; its command's error if that failed.
Result<bool> is_reached(cl_event event) {
  cl_int state = CL_COMPLETE;
  TAPML_TRY(cl_status(
      clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr),
      "clGetEventInfo"));
  if (state < 0) return fail(cl_error(state, "a command"));
  return state == CL_COMPLETE;
}

class ClQueue final : public DeviceQueue {
 public:
  ClQueue(std::shared_ptr<ClContext> context, ClObject<cl_command_queue> queue)
      : context_(std::move(context)), queue_(std::move(queue)) {}
  ~ClQueue() override { clFinish(queue_.get()); }

  Status write(DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    marker_.reset();
    if (bytes.size() > kStagedBytes) {
      return cl_status(
          clEnqueueWriteBuffer(queue_.get(), handle_of(to), CL_TRUE, static_cast<size_t>(offset),
                               bytes.size(), bytes.data(), 0, nullptr, nullptr),
          "clEnqueueWriteBuffer");
    }
    TAPML_TRY(drop_written());
    Staged staged;
    staged.bytes.assign(bytes.begin(), bytes.end());
    cl_event event = nullptr;
    TAPML_TRY(cl_status(
        clEnqueueWriteBuffer(queue_.get(), handle_of(to), CL_FALSE, static_cast<size_t>(offset),
                             staged.bytes.size(), staged.bytes.data(), 0, nullptr, &event),
        "clEnqueueWriteBuffer"));
    staged.written.reset(event);
    staged_.push_back(std::move(staged));
    return {};
  }

  Status copy(DeviceMemory& from, int64_t from_offset, DeviceMemory& to, int64_t to_offset,
              int64_t size) noexcept override {
    marker_.reset();
    int64_t distance = from_offset > to_offset ? from_offset - to_offset : to_offset - from_offset;
    if (&from == &to && distance < size)
      return copy_overlapping(from, from_offset, to_offset, size);
    return copy_apart(handle_of(from), from_offset, handle_of(to), to_offset, size);
  }

  Status fill_zero(DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    marker_.reset();
    // The longest pattern that the location allows is the fastest.
    const cl_uint zeros[4] = {};
    size_t pattern = (offset | size) % 16 == 0 ? 16 : (offset | size) % 4 == 0 ? 4 : 1;
    return cl_status(clEnqueueFillBuffer(queue_.get(), handle_of(to), zeros, pattern,
                                         static_cast<size_t>(offset), static_cast<size_t>(size), 0,
                                         nullptr, nullptr),
                     "clEnqueueFillBuffer");
  }

  Status launch(DeviceKernel& kernel, const LaunchArgs& args) noexcept override {
    marker_.reset();
    auto& code = static_cast<ClKernel&>(kernel);
    if (code.arguments != 2 * args.buffers.size() + args.scalars.size() + 1 + args.shared.size()) {
      return fail(internal_error("kernel " + code.entry + " declares " +
                                     std::to_string(code.arguments) + " arguments for " +
                                     std::to_string(args.buffers.size()) + " buffers, " +
                                     std::to_string(args.scalars.size()) + " scalars and " +
                                     std::to_string(args.shared.size()) + " shared buffers",
                                 "opencl"));
    }
    auto threads = static_cast<size_t>(args.workgroup_threads);
    if (threads > code.max_group) {
      return fail(platform_error(PlatformFault::kLimit,
                                 "kernel " + code.entry + " asks for work groups of " +
                                     std::to_string(threads) + " threads; the driver allows it " +
                                     std::to_string(code.max_group),
                                 "opencl"));
    }
    const std::array<size_t, 3> groups = grid_of(args, context_->max_groups);
    const std::array<size_t, 3> global = {groups[0] * threads, groups[1], groups[2]};
    const std::array<size_t, 3> local = {threads, 1, 1};
    const cl_uint dimensions = groups[2] > 1 ? 3 : groups[1] > 1 ? 2 : 1;
    std::lock_guard guard(code.lock);
    TAPML_TRY(set_arguments(code.kernel.get(), args));
    return cl_status(clEnqueueNDRangeKernel(queue_.get(), code.kernel.get(), dimensions, nullptr,
                                            global.data(), local.data(), 0, nullptr, nullptr),
                     "clEnqueueNDRangeKernel");
  }

  Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept override {
    TAPML_TRY(cl_status(
        clEnqueueReadBuffer(queue_.get(), handle_of(from), CL_TRUE, static_cast<size_t>(offset),
                            bytes.size(), bytes.data(), 0, nullptr, nullptr),
        "clEnqueueReadBuffer"));
    staged_.clear();
    return {};
  }

  Status synchronize() noexcept override {
    TAPML_TRY(cl_status(clFinish(queue_.get()), "clFinish"));
    return drop_written();
  }

  Result<bool> done() noexcept override {
    if (!marker_) {
      cl_event event = nullptr;
      TAPML_TRY(cl_status(clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event),
                          "clEnqueueMarkerWithWaitList"));
      marker_.reset(event);
      TAPML_TRY(cl_status(clFlush(queue_.get()), "clFlush"));
    }
    return is_reached(marker_.get());
  }

  Result<std::shared_ptr<DeviceEvent>> record() noexcept override {
    cl_event event = nullptr;
    TAPML_TRY(cl_status(clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event),
                        "clEnqueueMarkerWithWaitList"));
    auto recorded = std::make_shared<ClEvent>(ClObject<cl_event>(event));
    // Another queue may wait for the event without flushing this one.
    TAPML_TRY(cl_status(clFlush(queue_.get()), "clFlush"));
    return recorded;
  }

  Status wait(DeviceEvent& event) noexcept override {
    marker_.reset();
    cl_event awaited = static_cast<ClEvent&>(event).event.get();
    return cl_status(clEnqueueBarrierWithWaitList(queue_.get(), 1, &awaited, nullptr),
                     "clEnqueueBarrierWithWaitList");
  }

 private:
  Status copy_apart(cl_mem from, int64_t from_offset, cl_mem to, int64_t to_offset, int64_t size) {
    return cl_status(clEnqueueCopyBuffer(queue_.get(), from, to, static_cast<size_t>(from_offset),
                                         static_cast<size_t>(to_offset), static_cast<size_t>(size),
                                         0, nullptr, nullptr),
                     "clEnqueueCopyBuffer");
  }

  // OpenCL rejects copies between overlapping ranges: use a temporary buffer.
  Status copy_overlapping(DeviceMemory& memory, int64_t from, int64_t to, int64_t size) {
    cl_int code = CL_SUCCESS;
    ClObject<cl_mem> aside(clCreateBuffer(context_->context.get(), CL_MEM_READ_WRITE,
                                          static_cast<size_t>(size), nullptr, &code));
    TAPML_TRY(cl_status(code, "clCreateBuffer"));
    TAPML_TRY(copy_apart(handle_of(memory), from, aside.get(), 0, size));
    return copy_apart(aside.get(), 0, handle_of(memory), to, size);
  }

  // Work groups in each dimension. Kernels stride over their grid, so that more than keep the
  // device busy are not launched.
  static std::array<size_t, 3> grid_of(const LaunchArgs& args, int64_t most) {
    std::array<size_t, 3> groups;
    const int64_t asked[] = {(args.extent - 1) / args.workgroup_threads + 1, args.grid[0],
                             args.grid[1]};
    for (size_t i = 0; i < groups.size(); ++i) {
      const int64_t here = std::min(asked[i], std::max<int64_t>(most, 1));
      groups[i] = static_cast<size_t>(here);
      most /= here;
    }
    return groups;
  }

  static Status set_arguments(cl_kernel kernel, const LaunchArgs& args) {
    cl_uint index = 0;
    for (const BufferArg& buffer : args.buffers) {
      cl_mem memory = handle_of(*buffer.memory);
      TAPML_TRY(
          cl_status(clSetKernelArg(kernel, index++, sizeof(memory), &memory), "clSetKernelArg"));
    }
    for (const BufferArg& buffer : args.buffers) {
      TAPML_TRY(set_long(kernel, index++, buffer.offset));
    }
    for (int64_t scalar : args.scalars) TAPML_TRY(set_long(kernel, index++, scalar));
    TAPML_TRY(set_long(kernel, index++, args.extent));
    for (const SharedSize& size : args.shared) {
      TAPML_TRY(cl_status(clSetKernelArg(kernel, index++, static_cast<size_t>(size.bytes), nullptr),
                          "clSetKernelArg"));
    }
    return {};
  }

  static Status set_long(cl_kernel kernel, cl_uint index, int64_t number) {
    cl_long value = number;
    return cl_status(clSetKernelArg(kernel, index, sizeof(value), &value), "clSetKernelArg");
  }

  // Frees the staged bytes of completed writes; waits for the oldest if there are too many.
  Status drop_written() {
    if (staged_.size() >= kMaxStaged) {
      cl_event oldest = staged_.front().written.get();
      TAPML_TRY(cl_status(clWaitForEvents(1, &oldest), "clWaitForEvents"));
    }
    size_t arrived = 0;
    while (arrived < staged_.size()) {
      TAPML_ASSIGN(bool reached, is_reached(staged_[arrived].written.get()));
      if (!reached) break;
      ++arrived;
    }
    staged_.erase(staged_.begin(), staged_.begin() + static_cast<std::ptrdiff_t>(arrived));
    return {};
  }

  std::shared_ptr<ClContext> context_;
  std::vector<Staged> staged_;  // oldest first
  ClObject<cl_event> marker_;   // after all enqueued work; null if work was enqueued since
  ClObject<cl_command_queue> queue_;
};

}  // namespace

Result<std::unique_ptr<DeviceQueue>> create_cl_queue(std::shared_ptr<ClContext> context) {
  cl_int code = CL_SUCCESS;
  ClObject<cl_command_queue> queue(
      clCreateCommandQueue(context->context.get(), context->device.device, 0, &code));
  TAPML_TRY(cl_status(code, "clCreateCommandQueue"));
  return std::make_unique<ClQueue>(std::move(context), std::move(queue));
}

}  // namespace tapml::device
