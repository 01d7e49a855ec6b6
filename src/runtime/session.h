// A Session is a device at hand or far away (architecture contract 5). The caller names all
// handles, so that a remote needs no reply before the next request; streams are ordered; errors of
// enqueued work surface at the next wait.
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

using Deadline = std::optional<std::chrono::steady_clock::time_point>;  // none: wait for ever

struct BufferRange {
  BufferId buffer{};
  int64_t offset = 0;  // bytes
};

// Bytes that are the same in run after run, as weights are, and where they go.
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
};

// All calls are safe from several threads. Unknown handles are InternalErrors.
//
// What waits, or may take long, takes a deadline: kTimeout when it passes first, kCancelled soon
// after set_interrupt()'s function says so. Then nothing is left of what the call was to make, and
// the session goes on. Elsewhere the wait ends in time whatever the device does; a device of this
// process is asked before it begins and between its steps, and ends the step it is in.
class Session {
 public:
  virtual ~Session() = default;

  virtual const DeviceInfo& info() const noexcept = 0;
  // This session where its device is in this process: callers that keep the objects behind their
  // handles alive may then pass these instead (LocalSession::launch). Null elsewhere.
  virtual LocalSession* local() noexcept { return nullptr; }
  // A handle that this session has not used yet; the first of `count` of them.
  uint64_t new_handle(uint64_t count = 1) noexcept { return next_handle_.fetch_add(count); }
  // From now on new_handle() counts from `first`: below is room for handles that others name.
  void name_handles_from(uint64_t first) noexcept { next_handle_.store(first); }

  // `interrupted`, asked by the thread that waits, ends its wait; empty: nothing does. Set while no
  // other thread uses the session.
  virtual void set_interrupt(std::function<bool()> interrupted) noexcept {
    interrupted_ = std::move(interrupted);
  }

  // Told how many bytes of a write_contents() are written, and of what else is large and goes to
  // another machine, and how many modules of an executable are loaded; empty: nobody is. Set while
  // no other thread uses the session.
  void set_watcher(WorkWatcher watcher) noexcept { watcher_ = std::move(watcher); }
  virtual const WorkWatcher& watcher() const noexcept { return watcher_; }

  // What runs the functions of `executable` where this session's device is: a LocalVirtualMachine,
  // or one beside a remote device. The session must outlive it.
  virtual Result<std::unique_ptr<VirtualMachine>> open_vm(
      std::shared_ptr<const Executable> executable, Deadline deadline = {}) noexcept;

  virtual Status allocate(BufferId id, int64_t bytes, Deadline deadline = {}) noexcept = 0;
  virtual void release(BufferId id) noexcept = 0;
  virtual Status load_module(ModuleId id, const ModuleBlob& blob,
                             Deadline deadline = {}) noexcept = 0;
  virtual void unload_module(ModuleId id) noexcept = 0;
  virtual Status get_kernel(KernelId id, ModuleId module, const std::string& entry,
                            Deadline deadline = {}) noexcept = 0;
  // Launches that are enqueued keep it until they are done.
  virtual void release_kernel(KernelId id) noexcept = 0;
  virtual Status create_stream(StreamId id) noexcept = 0;
  virtual void destroy_stream(StreamId id) noexcept = 0;

  // Enqueued. `bytes` are taken before the call returns.
  virtual Status write(StreamId stream, BufferRange to,
                       std::span<const std::byte> bytes) noexcept = 0;
  // The same for many at once that may be there already: a remote that keeps contents by their hash
  // is sent only what it lacks, which takes a wait.
  virtual Status write_contents(StreamId stream, std::span<const ContentWrite> contents,
                                Deadline deadline = {}) noexcept;
  virtual Status copy(StreamId stream, BufferRange from, BufferRange to, int64_t size) noexcept = 0;
  virtual Status fill_zero(StreamId stream, BufferRange to, int64_t size) noexcept = 0;
  virtual Status launch(StreamId stream, const LaunchRequest& request) noexcept = 0;
  // An event is reached when everything enqueued on `stream` before it is done. Recording an event
  // again replaces it.
  virtual Status record(StreamId stream, EventId event) noexcept = 0;
  virtual Status wait_event(StreamId stream, EventId event) noexcept = 0;  // enqueued

  // These wait.
  virtual Status read(StreamId stream, BufferRange from, std::span<std::byte> bytes,
                      Deadline deadline = {}) noexcept = 0;
  virtual Status synchronize(StreamId stream, Deadline deadline = {}) noexcept = 0;

  // Direct address of a buffer where the host shares memory with the device, else null.
  virtual std::byte* host_address(BufferId) noexcept { return nullptr; }

  // A copy of every buffer's bytes; restore() puts them back (buffers made since are left alone,
  // buffers released since stay released).
  struct Snapshot {
    std::vector<std::pair<BufferId, std::vector<std::byte>>> buffers;
  };
  virtual Result<Snapshot> snapshot() noexcept = 0;
  virtual Status restore(const Snapshot& snapshot) noexcept = 0;

  // From now on kernels, copies and waits are noted. Kernels are waited for one by one, so that
  // each one's time is its own.
  virtual Status start_trace() noexcept;
  // What was noted since the last time, remote events included, by the clock of this process.
  virtual Result<std::vector<TraceEvent>> take_trace() noexcept;

  // Counts restores: copies of this session's buffers held elsewhere are stale after one.
  uint64_t generation() const noexcept { return generation_.load(); }

 protected:
  void contents_replaced() noexcept { generation_.fetch_add(1); }
  TraceLog& trace() noexcept { return trace_; }
  // Whether it can be, and whether it is.
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
