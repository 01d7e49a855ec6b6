// The Session of a connection: tracks the client's names, and sends a request for each call.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "rpc/session/client_link.h"

namespace tapml::rpc {

class ClientSession final : public RemoteSession {
 public:
  // What the other side reported about itself.
  struct Peer {
    DeviceInfo device;
    uint64_t capabilities = 0;  // common to both sides
    size_t part_bytes = 0;      // of one part of an upload
    uint64_t module_bytes = 0;
  };
  ClientSession(std::unique_ptr<ClientLink> link, Peer peer)
      : link_(std::move(link)), peer_(std::move(peer)) {
    streams_.insert(runtime::kDefaultStream);
  }

  const DeviceInfo& info() const noexcept override { return peer_.device; }
  void set_interrupt(std::function<bool()> interrupted) noexcept override {
    link_->set_interrupt(std::move(interrupted));
  }
  Result<std::unique_ptr<runtime::VirtualMachine>> open_vm(
      std::shared_ptr<const Executable> executable,
      runtime::Deadline deadline = {}) noexcept override;
  Traffic traffic() const noexcept override;
  ClientLink& link() { return *link_; }
  bool captures() const { return (peer_.capabilities & kCapabilityCapture) != 0; }
  bool times() const {
    constexpr uint64_t kBoth = kCapabilityTiming | kCapabilityTrace;  // on this side's clock
    return (peer_.capabilities & kBoth) == kBoth;
  }
  bool recalls() const { return (peer_.capabilities & kCapabilityRecall) != 0; }
  bool dispatches() const { return (peer_.capabilities & kCapabilityDispatch) != 0; }

  Status allocate(runtime::BufferId id, int64_t bytes,
                  runtime::Deadline deadline = {}) noexcept override;
  void release(runtime::BufferId id) noexcept override;
  Status load_module(runtime::ModuleId id, const ModuleBlob& blob,
                     runtime::Deadline deadline = {}) noexcept override;
  void unload_module(runtime::ModuleId id) noexcept override;
  void release_kernel(runtime::KernelId id) noexcept override;
  Status get_kernel(runtime::KernelId id, runtime::ModuleId module, const std::string& entry,
                    runtime::Deadline deadline = {}) noexcept override;
  Status create_stream(runtime::StreamId id) noexcept override;
  void destroy_stream(runtime::StreamId id) noexcept override;

  Status write(runtime::StreamId stream, runtime::BufferRange to,
               std::span<const std::byte> bytes) noexcept override;
  Status write_contents(runtime::StreamId stream, std::span<const runtime::ContentWrite> contents,
                        runtime::Deadline deadline = {}) noexcept override;
  Status copy(runtime::StreamId stream, runtime::BufferRange from, runtime::BufferRange to,
              int64_t size) noexcept override;
  Status fill_zero(runtime::StreamId stream, runtime::BufferRange to,
                   int64_t size) noexcept override;
  Status launch(runtime::StreamId stream, const runtime::LaunchRequest& request) noexcept override;
  Status record(runtime::StreamId stream, runtime::EventId event) noexcept override;
  Status wait_event(runtime::StreamId stream, runtime::EventId event) noexcept override;

  Status read(runtime::StreamId stream, runtime::BufferRange from, std::span<std::byte> bytes,
              runtime::Deadline deadline = {}) noexcept override;
  Status synchronize(runtime::StreamId stream, runtime::Deadline deadline = {}) noexcept override;

  Status start_trace() noexcept override;
  Result<std::vector<runtime::TraceEvent>> take_trace() noexcept override;
  using Session::trace;  // for its VMs

  Result<Snapshot> snapshot() noexcept override;
  Status restore(const Snapshot& snapshot) noexcept override;

  // Uploads `bytes` as a blob with a new name, without what the other side already has. Leaves
  // nothing behind on failure.
  Result<uint64_t> send_blob(std::span<const std::byte> bytes,
                             const runtime::Deadline& deadline) noexcept;
  // Records a buffer that the other side created under a name that it was given.
  Status add_buffer(runtime::BufferId id, int64_t bytes) noexcept;
  // How far the other side's steady clock is ahead of this one, at a time of its own.
  struct ClockOffset {
    int64_t there = 0, ahead = 0;  // nanoseconds
  };
  Result<ClockOffset> compare_clocks() noexcept;
  // Releases `count` names from `id` on, whatever they refer to by then.
  void forget(wire::HandleKind kind, uint64_t id, uint32_t count = 1) noexcept;

 private:
  Status check(runtime::StreamId stream) noexcept;
  Status check(runtime::StreamId stream, runtime::BufferRange range, int64_t size,
               const char* what) noexcept;
  // Uploads a named blob, with the hash for the other side to check, or null.
  struct Sent;
  Status send_parts(uint64_t blob, std::span<const std::byte> bytes, const Sha256Digest* hash,
                    Sent& progress, const runtime::Deadline& deadline) noexcept;
  bool keeps_contents() const { return (peer_.capabilities & kCapabilityContent) != 0; }
  Status finish_all() noexcept;

  std::unique_ptr<ClientLink> link_;
  const Peer peer_;
  std::atomic<int64_t> bytes_found_{0};
  ClockOffset clock_;  // at the start of the trace, or its last reading

  runtime::Lock tables_;                                         // guards these
  std::unordered_map<uint64_t, int64_t> buffers_;                // size in bytes
  std::unordered_map<uint64_t, std::set<std::string>> modules_;  // entries
  std::unordered_map<uint64_t, std::string> kernels_;            // entry
  std::set<runtime::StreamId> streams_;
  std::set<runtime::EventId> events_;
};

}  // namespace tapml::rpc
