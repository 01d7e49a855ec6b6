#include "device/webgpu/webgpu_context.h"

#include <algorithm>
#include <tuple>

#include "base/rounding.h"

namespace tapml::device {

namespace {

// A kernel may read its buffers four words at a time.
constexpr int64_t kWebGpuStep = 16;
// Words of a list that is submitted without a wait; each command has about thirty.
constexpr size_t kLongList = 4096;
// Memory of at least so many bytes is asked for with a wait, so that a lack of it is seen at once.
constexpr int64_t kCheckedBytes = 16 << 20;
// Commands have offsets of 32 bits.
constexpr int64_t kMostWebGpuBytes = (int64_t{1} << 32) - 256;
// Offsets of bindings are multiples of this, by the default limit.
constexpr int64_t kBindingAlignment = 256;

DeviceInfo describe(const GpuFacts& facts) {
  DeviceInfo info;
  info.platform = "webgpu";
  info.name = facts.name;
  info.version = facts.version;
  info.kind = facts.processor ? DeviceKind::kProcessor : DeviceKind::kGpu;
  info.limits.max_workgroup_threads = facts.workgroup_threads;
  info.limits.max_local_memory = facts.workgroup_bytes;
  info.limits.max_binding_bytes = std::min(facts.binding_bytes, kMostWebGpuBytes);
  info.limits.max_allocation_bytes =
      std::min(facts.buffer_bytes, kMostWebGpuBytes) / kWebGpuStep * kWebGpuStep;
  info.limits.max_bindings = facts.bindings;
  info.limits.buffer_alignment = kBindingAlignment;
  // Other than words: parts or pairs of them.
  for (int i = 0; i <= static_cast<int>(DType::kF64); ++i) {
    const auto dtype = static_cast<DType>(i);
    if (dtype == DType::kF64) continue;
    info.features.storage_dtypes.insert(dtype);
    if (dtype != DType::kF16 && dtype != DType::kBF16) info.features.compute_dtypes.insert(dtype);
  }
  info.features.narrow_stores = false;
  info.features.local_memory = true;
  return info;
}

}  // namespace

Result<std::shared_ptr<WebGpuContext>> WebGpuContext::open(std::shared_ptr<Gpu> gpu) {
  TAPML_ASSIGN(GpuFacts facts, gpu->open());
  return std::shared_ptr<WebGpuContext>(new WebGpuContext(std::move(gpu), std::move(facts)));
}

WebGpuContext::WebGpuContext(std::shared_ptr<Gpu> gpu, GpuFacts facts)
    : gpu_(std::move(gpu)), facts_(std::move(facts)), info_(describe(facts_)) {}

WebGpuContext::~WebGpuContext() {
  for (const uint32_t buffer : empty_) gpu_->destroy_buffer(buffer);
  for (const Aside& one : aside_) gpu_->destroy_buffer(one.buffer);
}

Status WebGpuContext::add(GpuCommand command, std::span<const uint32_t> words) {
  commands_.push_back(static_cast<uint32_t>(command));
  commands_.insert(commands_.end(), words.begin(), words.end());
  return submit_long_list();
}

Status WebGpuContext::add(GpuCommand command, std::initializer_list<int64_t> words) {
  commands_.push_back(static_cast<uint32_t>(command));
  for (const int64_t word : words) commands_.push_back(static_cast<uint32_t>(word));
  return submit_long_list();
}

Status WebGpuContext::submit_long_list() {
  return commands_.size() >= kLongList ? flush() : Status{};
}

Status WebGpuContext::flush() {
  if (commands_.empty()) return {};
  Status submitted = gpu_->submit(commands_);
  commands_.clear();
  return submitted;
}

Result<uint32_t> WebGpuContext::empty_buffer(size_t index) {
  while (empty_.size() <= index) {
    TAPML_ASSIGN(const uint32_t buffer, gpu_->create_buffer(kWebGpuStep));
    empty_.push_back(buffer);
  }
  return empty_[index];
}

Result<uint32_t> WebGpuContext::aside(size_t index, int64_t bytes) {
  if (aside_.size() <= index) aside_.resize(index + 1);
  Aside& one = aside_[index];
  if (one.bytes >= bytes) return one.buffer;
  if (one.buffer != 0) {
    TAPML_TRY(flush());
    gpu_->destroy_buffer(one.buffer);
    one = {};
  }
  TAPML_ASSIGN(one.buffer, gpu_->create_buffer(round_up(bytes, kWebGpuStep)));
  one.bytes = bytes;
  return one.buffer;
}

Result<std::shared_ptr<WebGpuMemory>> WebGpuMemory::create(std::shared_ptr<WebGpuContext> context,
                                                           int64_t bytes) {
  const int64_t most = context->info().limits.max_allocation_bytes;
  if (bytes > most) {
    return fail(platform_error(PlatformFault::kLimit,
                               "an allocation of " + std::to_string(bytes) +
                                   " bytes; this adapter allows " + std::to_string(most),
                               "webgpu"));
  }
  const int64_t rounded = std::max(kWebGpuStep, round_up(bytes, kWebGpuStep));
  Gpu& gpu = context->gpu();
  const bool checked = rounded >= kCheckedBytes;
  // Errors of earlier commands are not those of the allocation.
  if (checked) TAPML_TRY(gpu.check());
  TAPML_ASSIGN(const uint32_t buffer, gpu.create_buffer(rounded));
  std::shared_ptr<WebGpuMemory> memory(new WebGpuMemory(std::move(context), buffer, bytes));
  if (checked) TAPML_TRY(gpu.check());
  return memory;
}

WebGpuMemory::~WebGpuMemory() {
  // Errors surface at the next wait: the device is lost.
  std::ignore = context_->flush();
  context_->gpu().destroy_buffer(buffer_);
}

int64_t WebGpuMemory::buffer_bytes() const {
  return std::max(kWebGpuStep, round_up(size_, kWebGpuStep));
}

}  // namespace tapml::device
