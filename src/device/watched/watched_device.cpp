#include "device/watched/watched_device.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <unordered_map>
#include <utility>

#include "device/watched/guarded_memory.h"

namespace tapml::device {

namespace {

using runtime::DeviceEvent;
using runtime::DeviceKernel;
using runtime::DeviceMemory;
using runtime::DeviceModule;
using runtime::DeviceQueue;

// State that the device's queues and modules share.
struct Watch {
  explicit Watch(WatchOptions given) : options(std::move(given)) {}

  std::string entry_of(const DeviceKernel& kernel) {
    const std::lock_guard guard(lock);
    const auto found = entries.find(&kernel);
    return found == entries.end() ? "" : found->second;
  }

  const WatchOptions options;
  std::mutex lock;
  std::unordered_map<const DeviceKernel*, std::string> entries;
};

class WatchedModule final : public DeviceModule {
 public:
  WatchedModule(std::shared_ptr<DeviceModule> module, std::shared_ptr<Watch> watch)
      : module_(std::move(module)), watch_(std::move(watch)) {}
  Result<std::shared_ptr<DeviceKernel>> kernel(const std::string& entry) noexcept override {
    TAPML_ASSIGN(auto kernel, module_->kernel(entry));
    const std::lock_guard guard(watch_->lock);
    watch_->entries[kernel.get()] = entry;
    return kernel;
  }

 private:
  std::shared_ptr<DeviceModule> module_;
  std::shared_ptr<Watch> watch_;
};

class WatchedQueue final : public DeviceQueue {
 public:
  WatchedQueue(std::unique_ptr<DeviceQueue> queue, std::shared_ptr<Watch> watch)
      : queue_(std::move(queue)), watch_(std::move(watch)) {}

  Status write(DeviceMemory& to, int64_t offset,
               std::span<const std::byte> bytes) noexcept override {
    return queue_->write(to, offset, bytes);
  }
  Status copy(DeviceMemory& from, int64_t from_offset, DeviceMemory& to, int64_t to_offset,
              int64_t size) noexcept override {
    return queue_->copy(from, from_offset, to, to_offset, size);
  }
  Status fill_zero(DeviceMemory& to, int64_t offset, int64_t size) noexcept override {
    return queue_->fill_zero(to, offset, size);
  }
  Status launch(DeviceKernel& kernel, const runtime::LaunchArgs& args) noexcept override;
  Status read(DeviceMemory& from, int64_t offset, std::span<std::byte> bytes) noexcept override {
    TAPML_TRY(queue_->read(from, offset, bytes));
    return ended();
  }
  Status synchronize() noexcept override {
    TAPML_TRY(queue_->synchronize());
    return ended();
  }
  Result<bool> done() noexcept override { return queue_->done(); }
  Result<std::shared_ptr<DeviceEvent>> record() noexcept override { return queue_->record(); }
  Status wait(DeviceEvent& event) noexcept override { return queue_->wait(event); }

 private:
  const WatchOptions& options() const { return watch_->options; }
  void note(const runtime::LaunchArgs& args);
  // The error for a write next to an argument of the launch that has just run.
  Status check_arguments(const runtime::LaunchArgs& args);
  // The error for output of finished launches to a stream.
  Status ended() noexcept;

  std::unique_ptr<DeviceQueue> queue_;
  std::shared_ptr<Watch> watch_;
  std::string entry_;     // of the last launch
  bool running_ = false;  // launched since the last wait
};

void WatchedQueue::note(const runtime::LaunchArgs& args) {
  runtime::LaunchNote* note = options().note;
  if (note == nullptr) return;
  note->set_entry(entry_);
  const int count =
      std::min<int>(static_cast<int>(args.buffers.size()), runtime::LaunchNote::kMostArguments);
  for (int i = 0; i < count; ++i) {
    runtime::LaunchNote::Argument& argument = note->argument[i];
    argument = {};
    const runtime::BufferArg& buffer = args.buffers[static_cast<size_t>(i)];
    if (const auto* memory = dynamic_cast<GuardedMemory*>(buffer.memory)) {
      argument.begin = reinterpret_cast<uintptr_t>(buffer.memory->host_address()) +
                       static_cast<uintptr_t>(buffer.offset);
      argument.zone_begin = memory->zone_begin();
      argument.zone_end = memory->zone_end();
    }
  }
  note->arguments.store(count);
  note->running.store(true);
}

Status WatchedQueue::launch(DeviceKernel& kernel, const runtime::LaunchArgs& args) noexcept {
  if (options().output && !running_) options().output->pass_on();
  entry_ = watch_->entry_of(kernel);
  running_ = true;
  note(args);
  // Other platforms may write other things to standard error, such as compiler warnings.
  const bool errors = options().output && options().guard_memory;
  if (errors) options().output->begin();
  Status launched = queue_->launch(kernel, args);
  if (errors) options().output->end();
  if (!options().guard_memory) return launched;
  const Status written = check_arguments(args), said = ended();
  TAPML_TRY(launched);
  TAPML_TRY(written);
  return said;
}

Status WatchedQueue::check_arguments(const runtime::LaunchArgs& args) {
  for (size_t i = 0; i < args.buffers.size(); ++i) {
    auto* memory = dynamic_cast<GuardedMemory*>(args.buffers[i].memory);
    if (memory == nullptr) continue;
    const std::optional<int64_t> stray = memory->take_stray();
    if (!stray) continue;
    const runtime::StrayAccess access{true, *stray - args.buffers[i].offset,
                                      static_cast<int64_t>(i), entry_};
    return fail(runtime::misbehavior("writes outside of its arguments: " +
                                     runtime::out_of_bounds_text(access)));
  }
  return {};
}

Status WatchedQueue::ended() noexcept {
  if (!std::exchange(running_, false)) return {};
  if (options().note) options().note->running.store(false);
  if (!options().output) return {};
  const std::string text = options().output->take();
  if (text.empty()) return {};
  Error error = runtime::misbehavior("writes to a standard stream: \"" + text + "\"");
  error.where = "kernel " + entry_;
  return fail(std::move(error));
}

class WatchedDevice final : public runtime::Device {
 public:
  WatchedDevice(std::shared_ptr<runtime::Device> device, WatchOptions options)
      : device_(std::move(device)), watch_(std::make_shared<Watch>(std::move(options))) {}

  const DeviceInfo& info() const noexcept override { return device_->info(); }
  Result<std::shared_ptr<DeviceMemory>> allocate(int64_t bytes) noexcept override;
  std::shared_ptr<DeviceMemory> share(std::span<const std::byte> bytes,
                                      const std::shared_ptr<const void>& owner) noexcept override {
    return device_->share(bytes, owner);
  }
  Result<std::shared_ptr<DeviceModule>> load(const ModuleBlob& blob) noexcept override {
    TAPML_ASSIGN(auto module, device_->load(blob));
    return std::make_shared<WatchedModule>(std::move(module), watch_);
  }
  Result<std::unique_ptr<DeviceQueue>> create_queue() noexcept override {
    TAPML_ASSIGN(auto queue, device_->create_queue());
    return std::make_unique<WatchedQueue>(std::move(queue), watch_);
  }
  void idle(int wake_fd) noexcept override { device_->idle(wake_fd); }
  void wake() noexcept override { device_->wake(); }

 private:
  std::shared_ptr<runtime::Device> device_;
  std::shared_ptr<Watch> watch_;
  std::atomic<uint64_t> allocations_ = 0;
};

Result<std::shared_ptr<DeviceMemory>> WatchedDevice::allocate(int64_t bytes) noexcept {
  const int64_t most = info().limits.max_allocation_bytes;
  if (!watch_->options.guard_memory || (most > 0 && bytes > most)) return device_->allocate(bytes);
  // Varies the side at which a kernel's output is not exactly at its protected page.
  const uint64_t mixed = allocations_.fetch_add(1) * 0x9e3779b97f4a7c15;
  if (auto memory = GuardedMemory::allocate(bytes, (mixed >> 63) == 0)) return memory;
  return device_->allocate(bytes);
}

}  // namespace

std::shared_ptr<runtime::Device> watch_launches(std::shared_ptr<runtime::Device> device,
                                                WatchOptions options) noexcept {
  return std::make_shared<WatchedDevice>(std::move(device), std::move(options));
}

}  // namespace tapml::device
