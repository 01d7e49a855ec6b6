// Serves one session: takes its requests in order and answers them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rpc/session/blob_table.h"
#include "rpc/session/code_budget.h"
#include "rpc/session/condition.h"
#include "rpc/session/handle_table.h"
#include "rpc/session/served_arguments.h"
#include "rpc/session/server_link.h"
#include "rpc/session/server_session.h"
#include "rpc/session/wire.h"
#include "runtime/capture.h"
#include "runtime/local_session.h"
#include "runtime/local_virtual_machine.h"
#include "runtime/tensor.h"

namespace tapml::rpc {

// There are three kinds of failure. One that breaks the protocol or the channel ends the session.
// One in a request that the client waits for is its reply. In other requests, the first one is kept
// for the next wait; a handle that such a request was to make becomes a name for that error.
class ServerCore {
 public:
  ServerCore(ServerLink& link, const ServerOptions& options)
      : link_(link),
        options_(options),
        packer_(options.compressor, options.compression),
        handles_(options.limits.handles),
        blobs_(options.limits.module_bytes),
        code_(options.limits.code_bytes) {}

  // As serve_session().
  Status serve() noexcept;

 private:
  // A running call of a VM. It is suspended at a kernel call that the client computes: requests are
  // served until one of them resumes it.
  struct ServedCall {
    uint64_t vm = 0;
    uint64_t request = 0;  // answered by the result; 0: no one waits
    std::string function = {};
    ServedArguments arguments = {};
    StorageNames names = {};   // of storages requested or known so far
    bool names_whole = false;  // they include those of all arguments
    uint64_t released = 0;     // released_ when the call began
    bool suspended = false;
    std::optional<Error> failed = {};  // error of a request while it was suspended
  };
  class Dispatch;
  class Timing;
  class Capture;
  struct CaptureDeleter {
    void operator()(Capture* capture) const noexcept;
  };
  struct ServedVm {
    std::unique_ptr<runtime::LocalVirtualMachine> vm;
    std::unique_ptr<Capture, CaptureDeleter> capture;            // state of the client's capture
    std::unordered_map<std::string, ServedArguments> arguments;  // of its functions' last calls
  };
  // The session's life.
  Status serve_requests() noexcept;
  Status handshake() noexcept;
  Status greet(const wire::Hello& hello) noexcept;
  Status open(const std::string& target) noexcept;
  Status take_frame(Clock::time_point until) noexcept;
  Status run(const wire::Requests& frame) noexcept;
  Status run(uint64_t id, const wire::Request& request) noexcept;
  // When the client stops waiting for a request of the frame.
  runtime::Deadline deadline_of(int64_t timeout) const noexcept;
  // Reads and synchronizations have their own timeout.
  void shorten_deadline(int64_t timeout) noexcept;
  // Ok while the client waits for the current request.
  Status awaited() const noexcept;
  void say(const std::string& line) const;
  void note(const std::string& line) const;  // for failures
  std::vector<std::string> log_of(const Error& error) const;

  // These return ok, or the request's own failure.
  Status handle(const wire::Allocate& request) noexcept;
  Status handle(const wire::Release& request) noexcept;
  Status handle(const wire::BeginBlob& request) noexcept;
  Status handle(const wire::BlobPart& request) noexcept;
  Status handle(const wire::LoadModule& request) noexcept;
  Status handle(const wire::GetKernel& request) noexcept;
  Status handle(const wire::CreateStream& request) noexcept;
  Status handle(const wire::Write& request) noexcept;
  Status handle(const wire::Copy& request) noexcept;
  Status handle(const wire::FillZero& request) noexcept;
  Status handle(const wire::Launch& request) noexcept;
  Status handle(const wire::Record& request) noexcept;
  Status handle(const wire::WaitEvent& request) noexcept;
  Status handle(const wire::Synchronize& request) noexcept;
  Status handle(const wire::OpenVm& request) noexcept;
  Status handle(const wire::WriteBlob& request) noexcept;
  // These return whether the content was found.
  Result<bool> handle(const wire::FindBlob& request) noexcept;
  Result<bool> handle(const wire::WriteContent& request) noexcept;
  Status read(uint64_t id, const wire::Read& request) noexcept;
  Status call(ServedCall& call, const wire::Call& request) noexcept;
  Status take_arguments(ServedCall& call, const wire::Call& request) noexcept;
  void name_arguments(ServedCall& call);
  Status answer(ServedCall& call, const wire::Call& request, const runtime::Value& result,
                const Dispatch* dispatch) noexcept;
  // Keeps what the next call of the function may omit.
  void remember(ServedVm& served, ServedCall& call) noexcept;
  Status resume(uint64_t id, const wire::Resume& request) noexcept;
  // Serves requests until one of them resumes the call. Its error is the run's.
  Status serve_suspended(ServedCall& call) noexcept;
  Result<std::span<const std::byte>> read_result(const runtime::Value& result,
                                                 const std::string& function,
                                                 size_t field) noexcept;
  Status read_trace(uint64_t id) noexcept;
  // Observes the current call.
  Status begin_capture(const wire::Capture& request, ServedVm& served) noexcept;

  // Handles.
  void release(wire::HandleKind kind, uint64_t id) noexcept;
  void release_buffer(uint64_t id) noexcept;
  // Makes the object for `id`; if that fails, the name holds the error.
  template <class Make>
  Status make(wire::HandleKind kind, uint64_t id, Make&& make) noexcept;
  Result<std::shared_ptr<runtime::Storage>> buffer(uint64_t id) noexcept;
  Status begin_blob(uint64_t id, int64_t bytes, const std::optional<Sha256Digest>& hash) noexcept;
  Result<std::vector<std::byte>> take_blob(uint64_t id) noexcept;
  std::string content_key(const Sha256Digest& hash) const;
  // The content of `bytes` bytes with the hash; nothing if it is not kept, or was altered.
  std::optional<std::vector<std::byte>> find_content(const Sha256Digest& hash,
                                                     uint64_t bytes) noexcept;
  // The range in the session's own handles.
  Result<runtime::BufferRange> place(uint64_t buffer, int64_t offset, int64_t size,
                                     const char* what) noexcept;
  // The same for a range that is about to be written: drops what was captured of it.
  Result<runtime::BufferRange> place_to(uint64_t buffer, int64_t offset, int64_t size,
                                        const char* what) noexcept;

  // Failures.
  Status surface() noexcept;         // errors of one-way requests
  void keep(Error error) noexcept;   // for surface()
  Status end(Error error) noexcept;  // ends the session, with this error

  // The channel. False: it broke, with the error in broken_.
  bool take(std::span<std::byte> to) noexcept;
  bool skip_payload() noexcept;
  // Unpacks the whole payload into `to`. An error is the request's; the payload is consumed.
  Status take_packed(std::span<std::byte> to) noexcept;
  // Whether the payload may unpack to `unpacked` bytes, at most `room`.
  Status check_packed(uint64_t unpacked, uint64_t room) noexcept;
  bool send(std::span<const std::byte> head, std::span<const std::byte> payload = {}) noexcept;
  template <class Answer>
  bool reply(uint64_t request, flatbuffers::Offset<Answer> answer,
             std::span<const std::byte> payload = {}) noexcept {
    const bool sent = send(finish_reply(builder_, ++replies_, request, answer), payload);
    builder_.Clear();
    return sent;
  }
  bool reply(uint64_t request, const Status& status) noexcept;
  bool reply_found(uint64_t request, const Result<bool>& found) noexcept;
  void work(bool begins) noexcept;

  ServerLink& link_;
  const ServerOptions& options_;
  std::optional<Error> broken_;
  bool working_ = false;

  uint64_t capabilities_ = 0;  // common to both sides
  Packer packer_;
  std::unique_ptr<ContentStore> contents_;
  Sha256Digest secret_{};  // of the client's token: selects its keys in contents_

  std::unique_ptr<runtime::LocalSession> session_;
  HandleTable handles_;
  std::unordered_map<uint64_t, std::shared_ptr<runtime::Storage>> buffers_;
  uint64_t released_ = 0;  // number of buffers
  BlobTable blobs_;
  CodeBudget code_;
  std::unordered_map<uint64_t, std::shared_ptr<ServedVm>> vms_;
  ServedCall* call_ = nullptr;  // current
  runtime::Deadline deadline_;  // of the current request
  std::optional<Error> kept_;
  std::string last_call_;  // name of the function

  std::vector<std::byte> head_;
  CopyBudget copies_{0};   // of head_; overdrawing it ends the session
  uint64_t payload_ = 0;   // bytes of the frame to be received
  uint64_t requests_ = 0;  // received so far
  uint64_t replies_ = 0;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<std::byte> staging_, packed_;
  std::vector<runtime::TraceEvent> events_;  // not sent yet
};

template <class Make>
Status ServerCore::make(wire::HandleKind kind, uint64_t id, Make&& make) noexcept {
  TAPML_TRY(handles_.check_new(kind, id));
  Status status = make();
  handles_.add(kind, id, status ? std::optional<Error>() : status.error());
  return status;
}

}  // namespace tapml::rpc
