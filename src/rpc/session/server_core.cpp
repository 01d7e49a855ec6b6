#include "rpc/session/server_core.h"

#include <algorithm>
#include <tuple>

#include "base/same_secret.h"
#include "rpc/session/limited_device.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

namespace {

// Whether the client waits for an answer, and may give up.
bool has_answer(const wire::Request& request) {
  switch (request.body_type()) {
    case wire::Body::Allocate:
      return request.body_as_Allocate()->reply();
    case wire::Body::GetKernel:
      return request.body_as_GetKernel()->reply();
    case wire::Body::LoadModule:
    case wire::Body::Read:
    case wire::Body::Synchronize:
    case wire::Body::OpenVm:
    case wire::Body::Call:
    case wire::Body::FindBlob:
    case wire::Body::WriteContent:
    case wire::Body::Ping:
    case wire::Body::ReadTrace:
      return true;
    case wire::Body::Resume:
      return !request.body_as_Resume()->abandoned();
    default:
      return false;
  }
}

}  // namespace

// --- the session's life ------------------------------------------------------------------------

Status ServerCore::serve() noexcept {
  Status status = serve_requests();
  if (options_.ended) options_.ended();
  return status;
}

Status ServerCore::serve_requests() noexcept {
  TAPML_TRY(handshake());
  if (!device_.is_open()) return {};  // the client asked only for the status
  for (;;) {
    Status status = take_frame(Clock::now() + options_.limits.idle);
    if (status) continue;
    const PlatformFault fault = status.error().fault;
    if (fault == PlatformFault::kLost) {
      channel_.say("the client disconnected");
      return {};
    }
    if (fault == PlatformFault::kTimeout) {
      // kLost, not kTimeout: no work missed its deadline, and the session is gone.
      return channel_.end(platform_error(
          PlatformFault::kLost,
          "the session was idle for " + std::to_string(options_.limits.idle.count()) +
              " ms and was ended",
          "the server",
          "a new session can be opened at once; --idle-seconds of the server is the limit"));
    }
    return channel_.end(std::move(status).error());
  }
}

Status ServerCore::handshake() noexcept {
  Status received = channel_.receive(Clock::now() + options_.limits.handshake);
  if (!received) {
    if (received.error().fault == PlatformFault::kLost) return received;
    return channel_.end(std::move(received).error());
  }
  const std::span<const std::byte> head = channel_.head();
  const auto* frame =
      head.size() <= options_.limits.head_bytes ? verified<wire::Requests>(head) : nullptr;
  const wire::Hello* hello = nullptr;
  if (frame && frame->list()->size() == 1) hello = frame->list()->Get(0)->body_as_Hello();
  if (!hello) return channel_.end(protocol_error("a session begins with a hello"));
  const std::string_view token =
      hello->token() ? std::string_view(hello->token()->data(), hello->token()->size()) : "";
  if (!options_.token.empty() && !same_secret(token, options_.token)) {
    Error error = user_error("the token is wrong", "", "the token that the server was started with",
                             token.empty() ? "none" : "another one");
    error.fault = PlatformFault::kUnauthorized;
    return channel_.end(std::move(error));
  }
  if (channel_.payload() > 0 || frame->first() != 1)
    return channel_.end(protocol_error("a hello is out of order"));
  requests_ = 1;
  if (hello->oldest() > kNewestVersion || hello->newest() < kOldestVersion) {
    Error error = protocol_error("the two sides have no version of the protocol in common");
    error.expected = std::to_string(kOldestVersion) + " to " + std::to_string(kNewestVersion);
    error.found = std::to_string(hello->oldest()) + " to " + std::to_string(hello->newest());
    error.hint = "use the same release of tapml on both sides";
    return channel_.end(std::move(error));
  }
  if (options_.admit) {
    if (Status admitted = options_.admit(); !admitted)
      return channel_.end(std::move(admitted).error());
  }
  return greet(*hello);
}

Status ServerCore::greet(const wire::Hello& hello) noexcept {
  std::string status;
  flatbuffers::Offset<wire::Device> device;
  if (options_.open_contents && !hello.status()) {
    blobs_.open_contents(options_.open_contents(), text_of(hello.token()));
  }
  channel_.agree(kCapabilityVm | kCapabilityTrace | kCapabilityCapture | kCapabilityDispatch |
                     kCapabilityTiming | kCapabilityRecall |
                     (blobs_.keeps_contents() ? kCapabilityContent : 0),
                 hello.capabilities());
  const std::string target = text_of(hello.target());
  if (hello.status()) {
    if (options_.describe) {  // it may open drivers
      channel_.work(true);
      status = options_.describe();
      channel_.work(false);
    }
  } else {
    Status opened = open(target);
    if (!opened) return channel_.end(std::move(opened).error());
    device = put_device(channel_.builder(), device_.session().info());
  }
  const auto text = channel_.builder().CreateString(status);
  const uint16_t version = std::min(kNewestVersion, hello.newest());
  if (!channel_.reply(1, wire::CreateWelcome(channel_.builder(), version, channel_.capabilities(),
                                             device, options_.limits.payload_bytes,
                                             options_.limits.module_bytes, text))) {
    return fail(*channel_.broken());
  }
  channel_.say(hello.status() ? "status" : "opened " + target);
  return {};
}

Status ServerCore::open(const std::string& target) noexcept {
  if (!options_.open_device) return fail(internal_error("the server opens no devices"));
  channel_.work(true);
  auto device = options_.open_device(target);
  channel_.work(false);
  if (!device) return fail(std::move(device).error());
  if (options_.limits.memory_bytes > 0) {
    *device = std::make_shared<LimitedDevice>(std::move(*device), options_.limits.memory_bytes);
  }
  return device_.open(std::move(*device));
}

Status serve_session_alone(Channel& channel, const ServerOptions& options) noexcept {
  ServerLink link(channel);
  return serve_session_over(link, options);
}

Status serve_session_over(ServerLink& link, const ServerOptions& options) noexcept {
  return ServerCore(link, options).serve();
}

// --- requests ----------------------------------------------------------------------------------

Status ServerCore::take_frame(Clock::time_point until) noexcept {
  TAPML_TRY(channel_.receive(until));
  const std::span<const std::byte> head = channel_.head();
  if (head.size() > options_.limits.head_bytes ||
      channel_.payload() > options_.limits.payload_bytes) {
    return fail(protocol_error("a frame of " + std::to_string(head.size()) + " and " +
                               std::to_string(channel_.payload()) + " bytes is above the limits"));
  }
  const auto* frame = verified<wire::Requests>(head);
  if (!frame) return fail(protocol_error("a message is not a request"));
  if (frame->first() != requests_ + 1) {
    return fail(protocol_error("a request is out of order: " + std::to_string(frame->first()) +
                               " after " + std::to_string(requests_)));
  }
  const auto* list = frame->list();
  const bool calls =
      list->size() > 0 && list->Get(list->size() - 1)->body_type() == wire::Body::Call;
  if (calls && device_.is_open()) device_.session().device().wake();
  channel_.work(true);
  Status status = run(*frame);
  channel_.work(false);
  return status;
}

Status ServerCore::run(const wire::Requests& frame) noexcept {
  if (frame.list()->size() == 0 && channel_.payload() > 0) {
    return fail(protocol_error("a payload without a request"));
  }
  for (flatbuffers::uoffset_t i = 0; i < frame.list()->size(); ++i) {
    const wire::Request& request = *frame.list()->Get(i);
    const wire::Body type = request.body_type();
    const bool last = i + 1 == frame.list()->size();
    const bool takes = type == wire::Body::BlobPart ||
                       (type == wire::Body::Write && !request.body_as_Write()->bytes());
    if (takes ? !last : last && channel_.payload() > 0) {
      return fail(protocol_error("the payload is not that of the last request"));
    }
    const bool may_suspend = type == wire::Body::Resume ||
                             (type == wire::Body::Call && request.body_as_Call()->dispatch());
    if (may_suspend && !last) {
      return fail(protocol_error("a request that may be suspended is not the last of its frame"));
    }
    if (i > 0) channel_.next_request();
    TAPML_TRY(run(++requests_, request));
  }
  return {};
}

template <class Use>
Status ServerCore::with_blob(uint64_t blob, Use&& use) noexcept {
  TAPML_ASSIGN(std::vector<std::byte> bytes, blobs_.take(blob));
  return use(std::move(bytes));
}

// Handlers decide whether their request may go on; an error here ends the session.
Status ServerCore::run(uint64_t id, const wire::Request& request) noexcept {
  struct Running {
    ServerLink& link;
    bool goes_on = false;  // in another request
    ~Running() {
      if (!goes_on) link.end_request();
    }
  } running{channel_.link()};
  channel_.clear_deadline();
  if (has_answer(request)) {
    channel_.link().begin_request(id);
    channel_.set_timeout(request.timeout());
  }
  Status status;
  bool answers = false, answered = false;  // with Done or Failure; otherwise by its handler
  switch (request.body_type()) {
    case wire::Body::Allocate:
      answers = request.body_as_Allocate()->reply();
      status = device_.handle(*request.body_as_Allocate());
      break;
    case wire::Body::Release:
      status = release(*request.body_as_Release());
      break;
    case wire::Body::BeginBlob:
      status = blobs_.handle(*request.body_as_BeginBlob());
      break;
    case wire::Body::BlobPart:
      status = blobs_.handle(*request.body_as_BlobPart());
      break;
    case wire::Body::LoadModule:
      answers = true;
      status = with_blob(request.body_as_LoadModule()->blob(), [&](std::vector<std::byte> bytes) {
        return device_.handle(*request.body_as_LoadModule(), std::move(bytes));
      });
      break;
    case wire::Body::GetKernel:
      answers = request.body_as_GetKernel()->reply();
      status = device_.handle(*request.body_as_GetKernel());
      break;
    case wire::Body::CreateStream:
      status = device_.handle(*request.body_as_CreateStream());
      break;
    case wire::Body::Write:
      status = device_.handle(*request.body_as_Write());
      break;
    case wire::Body::Copy:
      status = device_.handle(*request.body_as_Copy());
      break;
    case wire::Body::FillZero:
      status = device_.handle(*request.body_as_FillZero());
      break;
    case wire::Body::Launch:
      status = device_.handle(*request.body_as_Launch());
      break;
    case wire::Body::Record:
      status = device_.handle(*request.body_as_Record());
      break;
    case wire::Body::WaitEvent:
      status = device_.handle(*request.body_as_WaitEvent());
      break;
    case wire::Body::Read:
      answers = true;
      answered = request.body_as_Read()->size() > 0;
      status = device_.read(id, *request.body_as_Read());
      break;
    case wire::Body::Synchronize:
      answers = true;
      status = device_.handle(*request.body_as_Synchronize());
      break;
    case wire::Body::OpenVm:
      answers = true;
      status = with_blob(request.body_as_OpenVm()->blob(), [&](std::vector<std::byte> bytes) {
        return calls_.handle(*request.body_as_OpenVm(), std::move(bytes));
      });
      break;
    case wire::Body::Call:
      answers = answered = true;
      status = calls_.call(id, *request.body_as_Call());
      if (id > 0) break;
      answers = false;
      status = {};
      break;
    case wire::Body::Resume:
      answers = answered = !request.body_as_Resume()->abandoned();
      status = calls_.resume(id, *request.body_as_Resume());
      running.goes_on = answers && static_cast<bool>(status);
      break;
    case wire::Body::FindBlob:
      std::ignore = channel_.reply_found(id, blobs_.handle(*request.body_as_FindBlob()));
      break;
    case wire::Body::WriteContent:
      std::ignore = channel_.reply_found(id, blobs_.handle(*request.body_as_WriteContent()));
      break;
    case wire::Body::Ping:
      std::ignore = channel_.reply(id, wire::CreatePong(channel_.builder(), runtime::trace_now()));
      break;
    case wire::Body::StartTrace:
      status = device_.session().start_trace();
      break;
    case wire::Body::ReadTrace:
      answers = answered = true;
      status = device_.read_trace(id);
      break;
    case wire::Body::WriteBlob:
      status = blobs_.handle(*request.body_as_WriteBlob());
      break;
    case wire::Body::Cancel:  // handled by the link
      break;
    case wire::Body::Hello:
    case wire::Body::NONE:
      return fail(protocol_error("a request is not allowed at this point"));
    default:
      return fail(protocol_error("a request is unknown to this version"));
  }
  if (channel_.copies().overdrawn()) channel_.break_with(shared_parts_error());
  if (channel_.broken()) return fail(*channel_.broken());
  if (!answers) {
    if (!status) channel_.keep(std::move(status).error());
  } else if ((!status || !answered) && !channel_.reply(id, status)) {
    return fail(*channel_.broken());
  }
  return {};
}

// --- names -------------------------------------------------------------------------------------

Status ServerCore::release(const wire::Release& request) noexcept {
  if (request.kind() > wire::HandleKind::MAX) return {};
  if (request.count() > kMostNames) {
    return fail(platform_error(PlatformFault::kLimit,
                               "a release of " + std::to_string(request.count()) +
                                   " names; one may have " + std::to_string(kMostNames)));
  }
  for (uint32_t i = 0; i < request.count(); ++i) release(request.kind(), request.id() + i);
  return {};
}

void ServerCore::release(wire::HandleKind kind, uint64_t id) noexcept {
  HandleTable& handles = device_.handles();
  if (kind == wire::HandleKind::Stream && id == 0) return;
  // The session keeps its events, which pending work may need: they still count.
  const bool stays = kind == wire::HandleKind::Event && !handles.is_failed(kind, id);
  if (!handles.erase(kind, id, stays)) return;
  if (kind == wire::HandleKind::Buffer) {
    if (device_.release_buffer(id)) calls_.release_buffer(id);
  } else if (kind == wire::HandleKind::Blob) {
    std::ignore = blobs_.take(id);
  } else if (kind == wire::HandleKind::VirtualMachine) {
    calls_.release_vm(id);
  } else {
    device_.release(kind, id);
  }
}

}  // namespace tapml::rpc
