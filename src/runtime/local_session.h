// A Session over a Device of this process.
#pragma once

#include <memory>
#include <unordered_map>

#include "runtime/launch_batch.h"
#include "runtime/lock.h"
#include "runtime/session.h"

namespace tapml::runtime {

// Invalid requests (unknown handle, range outside its buffer) are rejected at once and have no
// effect. A stream keeps errors of its enqueued work: the rest of the stream is skipped, and the
// next wait on it returns the error and resets the stream, except after kLost, which stays.
class LocalSession final : public Session {
 public:
  // Several sessions may share a device.
  static Result<std::unique_ptr<LocalSession>> create(std::shared_ptr<Device> device) noexcept;
  ~LocalSession() override;

  const DeviceInfo& info() const noexcept override { return device_->info(); }
  Device& device() const noexcept { return *device_; }

  Status allocate(BufferId id, int64_t bytes, Deadline deadline = {}) noexcept override;
  void release(BufferId id) noexcept override;
  Status load_module(ModuleId id, const ModuleBlob& blob, Deadline deadline = {}) noexcept override;
  void unload_module(ModuleId id) noexcept override;
  Status get_kernel(KernelId id, ModuleId module, const std::string& entry,
                    Deadline deadline = {}) noexcept override;
  void release_kernel(KernelId id) noexcept override;
  Status create_stream(StreamId id) noexcept override;
  void destroy_stream(StreamId id) noexcept override;  // the default stream stays

  Status write(StreamId stream, BufferRange to, std::span<const std::byte> bytes) noexcept override;
  Status copy(StreamId stream, BufferRange from, BufferRange to, int64_t size) noexcept override;
  Status fill_zero(StreamId stream, BufferRange to, int64_t size) noexcept override;
  Status launch(StreamId stream, const LaunchRequest& request) noexcept override;
  Status record(StreamId stream, EventId event) noexcept override;
  Status wait_event(StreamId stream, EventId event) noexcept override;

  Status read(StreamId stream, BufferRange from, std::span<std::byte> bytes,
              Deadline deadline = {}) noexcept override;
  Status synchronize(StreamId stream, Deadline deadline = {}) noexcept override;
  std::byte* host_address(BufferId id) noexcept override;

  // Registers `memory`, which the session's device can use, as buffer `id`.
  Status adopt(BufferId id, std::shared_ptr<DeviceMemory> memory) noexcept;

  // The objects of handles; null for unknown ones. Holding an object keeps it usable.
  LocalSession* local() noexcept override { return this; }
  std::shared_ptr<DeviceMemory> memory(BufferId id) noexcept;
  std::shared_ptr<DeviceKernel> kernel(KernelId id) noexcept;
  // Where the host may write `size` bytes of the range at once, as if the write were enqueued on
  // `stream`: null if the host cannot access the memory or the stream has work or an error.
  std::byte* writable(StreamId stream, BufferRange to, int64_t size) noexcept;
  // Like launch() above, without table lookups. The caller keeps kernel and buffers alive until the
  // call returns and has checked that offsets are inside of their memory; `entry` names the kernel
  // in errors.
  Status launch(StreamId stream, DeviceKernel& kernel, const std::string& entry,
                const LaunchArgs& args) noexcept;
  // Until end_batch(), such launches on `stream` are held back and submitted together, if the
  // device prefers that (DeviceQueue::prefers_batches). Any other use of the stream, or the release
  // of a buffer, kernel or module, submits them first: until then the caller keeps what they use
  // alive. Errors surface as those of single launches do. Pairs nest.
  void begin_batch(StreamId stream) noexcept;
  void end_batch(StreamId stream) noexcept;

  Result<Snapshot> snapshot() noexcept override;
  Status restore(const Snapshot& snapshot) noexcept override;

 private:
  struct Stream {
    Lock lock;
    std::unique_ptr<DeviceQueue> queue;
    std::optional<Error> error;  // of enqueued work, not yet returned by a wait
    LaunchBatch held_back;
    int batches = 0;  // begun and not ended
  };
  struct Event {
    std::shared_ptr<DeviceEvent> reached;  // null: reached when it was recorded
    std::optional<Error> error;            // of the recording stream at that point
  };
  // `entry` is for messages.
  struct Kernel {
    std::shared_ptr<DeviceKernel> kernel;
    std::string entry;
  };

  explicit LocalSession(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  Result<std::shared_ptr<Stream>> find_stream(StreamId id) noexcept;
  Result<std::shared_ptr<DeviceMemory>> find_range(BufferRange range, int64_t size,
                                                   const char* what) noexcept;
  // The same for memory that may be written.
  Result<std::shared_ptr<DeviceMemory>> find_writable(BufferRange range, int64_t size,
                                                      const char* what) noexcept;
  template <class Work>
  Status enqueue(StreamId stream, Work&& work) noexcept;
  Status launch_on(Stream& stream, DeviceKernel& kernel, const std::string& entry,
                   const LaunchArgs& args, bool may_be_held_back) noexcept;
  // Submits the launches that were held back; the caller holds the stream's lock.
  void submit(Stream& stream) noexcept;
  void submit_all() noexcept;
  // Ok unless interrupted or out of time.
  Status may_wait(const Deadline& deadline) const noexcept;
  Status finish(Stream& stream, Deadline deadline) noexcept;
  Status surface(Stream& stream) noexcept;
  Status finish_all() noexcept;

  std::shared_ptr<Device> device_;
  Lock lock_;  // guards the tables
  std::unordered_map<uint64_t, std::shared_ptr<DeviceMemory>> buffers_;
  std::unordered_map<uint64_t, std::shared_ptr<DeviceModule>> modules_;
  std::unordered_map<uint64_t, Kernel> kernels_;
  std::unordered_map<uint64_t, std::shared_ptr<Stream>> streams_;
  Stream* default_stream_ = nullptr;  // in streams_ for the life of the session
  std::unordered_map<uint64_t, Event> events_;
  std::atomic<int> holding_back_{0};  // streams with launches held back
};

}  // namespace tapml::runtime
