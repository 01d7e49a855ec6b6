// The device of a server's session: requests for its buffers, streams, kernels and events.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include "rpc/session/code_budget.h"
#include "rpc/session/handle_table.h"
#include "rpc/session/server_channel.h"
#include "runtime/local_session.h"
#include "runtime/tensor.h"

namespace tapml::rpc {

// Owns the session's objects and the client's names for all of them. If a request that nobody waits
// for cannot make its object, the name holds the error.
class DeviceService {
 public:
  explicit DeviceService(ServerChannel& channel)
      : channel_(channel), handles_(channel.limits().handles), code_(channel.limits().code_bytes) {}

  Status open(std::shared_ptr<runtime::Device> device) noexcept;
  bool is_open() const { return session_ != nullptr; }
  runtime::LocalSession& session() { return *session_; }
  HandleTable& handles() { return handles_; }
  CodeBudget& code() { return code_; }

  // These return ok, or the request's own failure.
  Status handle(const wire::Allocate& request) noexcept;
  Status handle(const wire::LoadModule& request, std::vector<std::byte> bytes) noexcept;
  Status handle(const wire::GetKernel& request) noexcept;
  Status handle(const wire::CreateStream& request) noexcept;
  Status handle(const wire::Write& request) noexcept;
  Status handle(const wire::Copy& request) noexcept;
  Status handle(const wire::FillZero& request) noexcept;
  Status handle(const wire::Launch& request) noexcept;
  Status handle(const wire::Record& request) noexcept;
  Status handle(const wire::WaitEvent& request) noexcept;
  Status handle(const wire::Synchronize& request) noexcept;
  // These answer on success.
  Status read(uint64_t id, const wire::Read& request) noexcept;
  Status read_trace(uint64_t id) noexcept;
  // Writes to a stream and a range that it checks.
  Status write(uint64_t stream, uint64_t buffer, int64_t offset,
               std::span<const std::byte> bytes) noexcept;

  // Makes the object for `id`; if that fails, the name holds the error.
  template <class Make>
  Status make(wire::HandleKind kind, uint64_t id, Make&& make) noexcept {
    TAPML_TRY(handles_.check_new(kind, id));
    Status status = make();
    handles_.add(kind, id, status ? std::optional<Error>() : status.error());
    return status;
  }
  // The storage of a name.
  Result<std::shared_ptr<runtime::Storage>> buffer(uint64_t id) noexcept;
  // Null: the name has none.
  const runtime::Storage* find_buffer(uint64_t id) const noexcept;
  // Names a storage that a call made.
  void name_buffer(uint64_t id, std::shared_ptr<runtime::Storage> storage);
  // Whether anything else uses the storage of the name, which was erased.
  bool release_buffer(uint64_t id) noexcept;
  uint64_t released_buffers() const { return released_; }
  // Releases the object of a name that was erased: of a module, a stream or a kernel.
  void release(wire::HandleKind kind, uint64_t id) noexcept;

  // The range in the session's own handles.
  Result<runtime::BufferRange> place(uint64_t buffer, int64_t offset, int64_t size,
                                     const char* what) noexcept;
  // The same for a range that is about to be written: drops what was captured of it.
  Result<runtime::BufferRange> place_to(uint64_t buffer, int64_t offset, int64_t size,
                                        const char* what) noexcept;

 private:
  ServerChannel& channel_;
  std::unique_ptr<runtime::LocalSession> session_;
  HandleTable handles_;
  std::unordered_map<uint64_t, std::shared_ptr<runtime::Storage>> buffers_;
  uint64_t released_ = 0;  // number of buffers
  CodeBudget code_;
  std::vector<runtime::TraceEvent> events_;  // not sent yet
};

}  // namespace tapml::rpc
