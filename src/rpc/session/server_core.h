// Serves one session: takes its requests in their order and answers them.
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

// Three kinds of failure. What breaks the protocol or the channel ends the session. What goes wrong
// in a request that waits is its reply. What goes wrong in one that does not is kept, the first
// one, for the next wait; a handle that was to be made there stays as a name for that error.
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
  // A call of a machine while it runs. Where a kernel call is the client's it stands: requests are
  // served, until one of them goes on with it.
  struct ServedCall {
    uint64_t vm = 0;
    uint64_t request = 0;  // that the result answers; 0: nobody waits for it
    std::string function = {};
    ServedArguments arguments = {};
    StorageNames names = {};   // of what has been asked for, or is known
    bool names_whole = false;  // those of all arguments are among them
    uint64_t released = 0;     // released_ when it began
    bool stands = false;
    std::optional<Error> failed = {};  // what was asked for while it stood
  };
  class Dispatch;
  class Timing;
  class Capture;
  struct CaptureDeleter {
    void operator()(Capture* capture) const noexcept;
  };
  struct ServedVm {
    std::unique_ptr<runtime::LocalVirtualMachine> vm;
    std::unique_ptr<Capture, CaptureDeleter> capture;  // what the client has captured of it
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
  // When nobody waits any more for a request of the frame.
  runtime::Deadline deadline_of(int64_t timeout) const noexcept;
  // Reads and synchronizations have a timeout of their own.
  void shorten_deadline(int64_t timeout) noexcept;
  // Ok while somebody waits for the request at hand.
  Status awaited() const noexcept;
  void say(const std::string& line) const;
  void note(const std::string& line) const;  // for failures
  std::vector<std::string> log_of(const Error& error) const;

  // Ok, or the request's own failure.
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
  // These tell whether it was there.
  Result<bool> handle(const wire::FindBlob& request) noexcept;
  Result<bool> handle(const wire::WriteContent& request) noexcept;
  Status read(uint64_t id, const wire::Read& request) noexcept;
  Status call(ServedCall& call, const wire::Call& request) noexcept;
  Status take_arguments(ServedCall& call, const wire::Call& request) noexcept;
  void name_arguments(ServedCall& call);
  Status answer(ServedCall& call, const wire::Call& request, const runtime::Value& result,
                const Dispatch* dispatch) noexcept;
  // What the next call of the function may leave out.
  void remember(ServedVm& served, ServedCall& call) noexcept;
  Status resume(uint64_t id, const wire::Resume& request) noexcept;
  // Serves requests until one of them goes on with the call. Its error is the run's.
  Status stand(ServedCall& call) noexcept;
  Result<std::span<const std::byte>> read_result(const runtime::Value& result,
                                                 const std::string& function,
                                                 size_t field) noexcept;
  Status read_trace(uint64_t id) noexcept;
  // The call at hand is observed.
  Status begin_capture(const wire::Capture& request, ServedVm& served) noexcept;

  // Handles.
  void release(wire::HandleKind kind, uint64_t id) noexcept;
  void release_buffer(uint64_t id) noexcept;
  // Makes what `id` is to name; where that fails, the name stands for the error.
  template <class Make>
  Status make(wire::HandleKind kind, uint64_t id, Make&& make) noexcept;
  Result<std::shared_ptr<runtime::Storage>> buffer(uint64_t id) noexcept;
  Status begin_blob(uint64_t id, int64_t bytes, const std::optional<Sha256Digest>& hash) noexcept;
  Result<std::vector<std::byte>> take_blob(uint64_t id) noexcept;
  std::string content_key(const Sha256Digest& hash) const;
  // What is kept of so many bytes with the hash; nothing where it is not, or not so any more.
  std::optional<std::vector<std::byte>> find_content(const Sha256Digest& hash,
                                                     uint64_t bytes) noexcept;
  // The range in the session's own names.
  Result<runtime::BufferRange> place(uint64_t buffer, int64_t offset, int64_t size,
                                     const char* what) noexcept;
  // The same of a range that is about to be written: what was captured of it holds no more.
  Result<runtime::BufferRange> place_to(uint64_t buffer, int64_t offset, int64_t size,
                                        const char* what) noexcept;

  // Failures.
  Status surface() noexcept;         // what one-way requests left behind
  void keep(Error error) noexcept;   // for surface()
  Status end(Error error) noexcept;  // the session, with this error

  // The channel. False: it broke, and broken_ says how.
  bool take(std::span<std::byte> to) noexcept;
  bool skip_payload() noexcept;
  // The whole payload, unpacked into `to`. An error of the request; it is taken all the same.
  Status take_packed(std::span<std::byte> to) noexcept;
  // Whether a payload may be packed bytes of so many, at most `room`.
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

  uint64_t capabilities_ = 0;  // of both sides
  Packer packer_;
  std::unique_ptr<ContentStore> contents_;
  Sha256Digest secret_{};  // of the client's token: what it may ask contents_ for

  std::unique_ptr<runtime::LocalSession> session_;
  HandleTable handles_;
  std::unordered_map<uint64_t, std::shared_ptr<runtime::Storage>> buffers_;
  uint64_t released_ = 0;  // buffers, so far
  BlobTable blobs_;
  CodeBudget code_;
  std::unordered_map<uint64_t, std::shared_ptr<ServedVm>> vms_;
  ServedCall* call_ = nullptr;  // at hand
  runtime::Deadline deadline_;  // of the request at hand
  std::optional<Error> kept_;
  std::string last_call_;  // function

  std::vector<std::byte> head_;
  CopyBudget copies_{0};   // of head_; overdrawn: the session ends
  uint64_t payload_ = 0;   // bytes of the frame still to be taken
  uint64_t requests_ = 0;  // seen so far
  uint64_t replies_ = 0;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<std::byte> staging_, packed_;
  std::vector<runtime::TraceEvent> events_;  // noted and not sent yet
};

template <class Make>
Status ServerCore::make(wire::HandleKind kind, uint64_t id, Make&& make) noexcept {
  TAPML_TRY(handles_.check_new(kind, id));
  Status status = make();
  handles_.add(kind, id, status ? std::optional<Error>() : status.error());
  return status;
}

}  // namespace tapml::rpc
