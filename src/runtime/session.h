// A Session is a local or remote device (architecture contract 5). The caller names all handles, so
// a remote session need not wait for a reply before the next request; streams are ordered; errors
// of enqueued work surface at the next wait.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "abi/device_info.h"
#include "base/work.h"
#include "exec/executable.h"
#include "runtime/trace.h"

namespace tapml::runtime {

class DeviceMemory;
class LocalSession;
class VirtualMachine;

enum class BufferId : uint64_t {};
enum class ModuleId : uint64_t {};
enum class KernelId : uint64_t {};
enum class StreamId : uint64_t {};
enum class EventId : uint64_t {};

// The stream that every session has from the start.
inline constexpr StreamId kDefaultStream{0};

using Deadline = std::optional<std::chrono::steady_clock::time_point>;  // none: wait forever

struct BufferRange {
  BufferId buffer{};
  int64_t offset = 0;  // bytes
};

// Bytes that are the same in every run, such as weights, and their destination.
struct ContentWrite {
  BufferRange to;
  std::span<const std::byte> bytes;
};

struct LaunchRequest {
  KernelId kernel{};
  std::span<const BufferRange> buffers;
  std::span<const int64_t> scalars;
  int64_t extent = 0;
  int64_t workgroup_threads = 1;
  GridRest grid = {1, 1};
  std::span<const SharedSize> shared;
};

// All calls are thread-safe. Unknown handles are InternalErrors.
//
// Calls that wait, or may take long, take a deadline: kTimeout if it passes first, kCancelled soon
// after set_interrupt()'s function returns true. The call then leaves nothing behind, and the
// session remains usable. Remote waits end in time whatever the device does; a local device is
// polled before it begins and between its steps, and completes its current step.
class Session {
 public:
  virtual ~Session() = default;

  virtual const DeviceInfo& info() const noexcept = 0;
  // This session if its device is in this process, else null: callers that keep the objects of
  // their handles alive may then pass these instead (LocalSession::launch).
  virtual LocalSession* local() noexcept { return nullptr; }
  // An unused handle of this session; the first of `count` of them.
  uint64_t new_handle(uint64_t count = 1) noexcept { return next_handle_.fetch_add(count); }
  // Makes new_handle() count from `first`, which reserves the lower handles for others.
  void name_handles_from(uint64_t first) noexcept { next_handle_.store(first); }

  // `interrupted`, polled by the waiting thread, ends its wait; empty: never. Set it while no other
  // thread uses the session.
  virtual void set_interrupt(std::function<bool()> interrupted) noexcept {
    interrupted_ = std::move(interrupted);
  }

  // Receives progress: the bytes written by write_contents() and other large transfers to a remote
  // machine, and the number of modules loaded for an executable; may be empty. Set it while no
  // other thread uses the session.
  void set_watcher(WorkWatcher watcher) noexcept { watcher_ = std::move(watcher); }
  virtual const WorkWatcher& watcher() const noexcept { return watcher_; }

  // A virtual machine for `executable` beside this session's device: a LocalVirtualMachine, or one
  // next to a remote device. The session must outlive it.
  virtual Result<std::unique_ptr<VirtualMachine>> open_vm(
      std::shared_ptr<const Executable> executable, Deadline deadline = {}) noexcept;

  virtual Status allocate(BufferId id, int64_t bytes, Deadline deadline = {}) noexcept = 0;
  virtual void release(BufferId id) noexcept = 0;
  virtual Status load_module(ModuleId id, const ModuleBlob& blob,
                             Deadline deadline = {}) noexcept = 0;
  virtual void unload_module(ModuleId id) noexcept = 0;
  virtual Status get_kernel(KernelId id, ModuleId module, const std::string& entry,
                            Deadline deadline = {}) noexcept = 0;
  // Enqueued launches keep it until they are done.
  virtual void release_kernel(KernelId id) noexcept = 0;
  virtual Status create_stream(StreamId id) noexcept = 0;
  virtual void destroy_stream(StreamId id) noexcept = 0;

  // Enqueues a write. Copies `bytes` before it returns.
  virtual Status write(StreamId stream, BufferRange to,
                       std::span<const std::byte> bytes) noexcept = 0;
  // The same for many writes whose bytes may be there already: a remote that stores contents by
  // hash receives only what it lacks, which requires a wait.
  virtual Status write_contents(StreamId stream, std::span<const ContentWrite> contents,
                                Deadline deadline = {}) noexcept;
  virtual Status copy(StreamId stream, BufferRange from, BufferRange to, int64_t size) noexcept = 0;
  virtual Status fill_zero(StreamId stream, BufferRange to, int64_t size) noexcept = 0;
  virtual Status launch(StreamId stream, const LaunchRequest& request) noexcept = 0;
  // An event is reached when all earlier work on `stream` is done. Recording an event again
  // replaces it.
  virtual Status record(StreamId stream, EventId event) noexcept = 0;
  virtual Status wait_event(StreamId stream, EventId event) noexcept = 0;  // enqueued

  // These calls wait.
  virtual Status read(StreamId stream, BufferRange from, std::span<std::byte> bytes,
                      Deadline deadline = {}) noexcept = 0;
  virtual Status synchronize(StreamId stream, Deadline deadline = {}) noexcept = 0;

  // Direct address of a buffer if the host shares memory with the device, else null.
  virtual std::byte* host_address(BufferId) noexcept { return nullptr; }

  // A copy of every buffer's bytes; restore() writes them back (newer buffers are left alone,
  // released buffers stay released).
  struct Snapshot {
    std::vector<std::pair<BufferId, std::vector<std::byte>>> buffers;
  };
  virtual Result<Snapshot> snapshot() noexcept = 0;
  virtual Status restore(const Snapshot& snapshot) noexcept = 0;

  // Starts recording kernels, copies and waits. Kernels are waited for one by one, so that each
  // time covers one kernel.
  virtual Status start_trace() noexcept;
  // The events since the last call, including remote ones, by the clock of this process.
  virtual Result<std::vector<TraceEvent>> take_trace() noexcept;

  // Counts restores: each makes all copies of this session's buffers on other sessions stale.
  uint64_t generation() const noexcept { return generation_.load(); }

 protected:
  void contents_replaced() noexcept { generation_.fetch_add(1); }
  TraceLog& trace() noexcept { return trace_; }
  // Whether an interrupt function is set, and whether it returns true.
  bool interruptible() const noexcept { return static_cast<bool>(interrupted_); }
  bool interrupted() const noexcept { return interrupted_ && interrupted_(); }
  // "send", "upload": `done` of `total` bytes.
  void tell_bytes(const char* what, int64_t done, int64_t total) const {
    tell(watcher(), {what, done, total, "bytes"});
  }

 private:
  std::atomic<uint64_t> next_handle_{1};
  std::atomic<uint64_t> generation_{0};
  TraceLog trace_;
  std::function<bool()> interrupted_;
  WorkWatcher watcher_;
};

}  // namespace tapml::runtime
