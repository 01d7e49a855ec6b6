#include "rpc/session/server_core.h"

#include <algorithm>
#include <tuple>

#include "base/printable.h"
#include "base/same_secret.h"
#include "rpc/session/limited_device.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

namespace {

bool is_timeout(const Status& status) {
  return !status && status.error().fault == PlatformFault::kTimeout;
}

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
  if (!session_) return {};  // the client asked only for the status
  for (;;) {
    Status status = take_frame(Clock::now() + options_.limits.idle);
    if (status) continue;
    const PlatformFault fault = status.error().fault;
    if (fault == PlatformFault::kLost) {
      say("the client disconnected");
      return {};
    }
    if (fault == PlatformFault::kTimeout) {
      // kLost, not kTimeout: no work missed its deadline, and the session is gone.
      return end(platform_error(
          PlatformFault::kLost,
          "the session was idle for " + std::to_string(options_.limits.idle.count()) +
              " ms and was ended",
          "the server",
          "a new session can be opened at once; --idle-seconds of the server is the limit"));
    }
    return end(std::move(status).error());
  }
}

// Reports the error to the client, if it still listens.
Status ServerCore::end(Error error) noexcept {
  builder_.Clear();
  const auto head = finish_reply(builder_, 0, 0, put_error(builder_, error, true, log_of(error)));
  std::ignore = link_.send(head, {}, Clock::now() + options_.limits.heartbeat);
  say("ended: " + error.message);
  return fail(std::move(error));
}

void ServerCore::note(const std::string& line) const {
  if (options_.recent) options_.recent->add(line);
}

// The log before a failure of the platform or of tapml; errors of the input need none.
std::vector<std::string> ServerCore::log_of(const Error& error) const {
  if (!options_.recent || error.kind == ErrorKind::kUser) return {};
  return options_.recent->lines();
}

void ServerCore::say(const std::string& line) const {
  // The line contains names from the client.
  const std::string shown = printable_line(line);
  note(shown);
  if (options_.log) options_.log(shown);
}

Status ServerCore::handshake() noexcept {
  Status received = link_.receive(head_, payload_, Clock::now() + options_.limits.handshake);
  if (!received) {
    if (received.error().fault == PlatformFault::kLost) return received;
    return end(std::move(received).error());
  }
  const auto* frame =
      head_.size() <= options_.limits.head_bytes ? verified<wire::Requests>(head_) : nullptr;
  const wire::Hello* hello = nullptr;
  if (frame && frame->list()->size() == 1) hello = frame->list()->Get(0)->body_as_Hello();
  if (!hello) return end(protocol_error("a session begins with a hello"));
  const std::string_view token =
      hello->token() ? std::string_view(hello->token()->data(), hello->token()->size()) : "";
  if (!options_.token.empty() && !same_secret(token, options_.token)) {
    Error error = user_error("the token is wrong", "", "the token that the server was started with",
                             token.empty() ? "none" : "another one");
    error.fault = PlatformFault::kUnauthorized;
    return end(std::move(error));
  }
  if (payload_ > 0 || frame->first() != 1) return end(protocol_error("a hello is out of order"));
  requests_ = 1;
  if (hello->oldest() > kNewestVersion || hello->newest() < kOldestVersion) {
    Error error = protocol_error("the two sides have no version of the protocol in common");
    error.expected = std::to_string(kOldestVersion) + " to " + std::to_string(kNewestVersion);
    error.found = std::to_string(hello->oldest()) + " to " + std::to_string(hello->newest());
    error.hint = "use the same release of tapml on both sides";
    return end(std::move(error));
  }
  if (options_.admit) {
    if (Status admitted = options_.admit(); !admitted) return end(std::move(admitted).error());
  }
  return greet(*hello);
}

Status ServerCore::greet(const wire::Hello& hello) noexcept {
  std::string status;
  flatbuffers::Offset<wire::Device> device;
  if (options_.open_contents && !hello.status()) contents_ = options_.open_contents();
  capabilities_ = kCapabilityVm | kCapabilityTrace | kCapabilityCapture | kCapabilityDispatch |
                  kCapabilityTiming | kCapabilityRecall;
  if (packer_.present()) capabilities_ |= kCapabilityZstd;
  if (contents_) capabilities_ |= kCapabilityContent;
  capabilities_ &= hello.capabilities();
  if (capabilities_ & kCapabilityZstd) packer_.enable();
  secret_ = sha256("tapml contents of " + text_of(hello.token()));
  const std::string target = text_of(hello.target());
  if (hello.status()) {
    if (options_.describe) {  // it may open drivers
      work(true);
      status = options_.describe();
      work(false);
    }
  } else {
    Status opened = open(target);
    if (!opened) return end(std::move(opened).error());
    device = put_device(builder_, session_->info());
  }
  const auto text = builder_.CreateString(status);
  const uint16_t version = std::min(kNewestVersion, hello.newest());
  if (!reply(1, wire::CreateWelcome(builder_, version, capabilities_, device,
                                    options_.limits.payload_bytes, options_.limits.module_bytes,
                                    text))) {
    return fail(*broken_);
  }
  say(hello.status() ? "status" : "opened " + target);
  return {};
}

Status ServerCore::open(const std::string& target) noexcept {
  if (!options_.open_device) return fail(internal_error("the server opens no devices"));
  work(true);
  auto device = options_.open_device(target);
  work(false);
  if (!device) return fail(std::move(device).error());
  if (options_.limits.memory_bytes > 0) {
    *device = std::make_shared<LimitedDevice>(std::move(*device), options_.limits.memory_bytes);
  }
  TAPML_ASSIGN(session_, runtime::LocalSession::create(std::move(*device)));
  session_->name_handles_from(kServerHandles);
  session_->set_interrupt([this] { return link_.interrupt().load(std::memory_order_relaxed); });
  session_->set_watcher([this](const Work& work) {
    if (work.unit == "modules") link_.report(work.done, work.total);
  });
  handles_.add_own(wire::HandleKind::Stream, 0);
  return {};
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
  TAPML_TRY(link_.receive(head_, payload_, until));
  if (head_.size() > options_.limits.head_bytes || payload_ > options_.limits.payload_bytes) {
    return fail(protocol_error("a frame of " + std::to_string(head_.size()) + " and " +
                               std::to_string(payload_) + " bytes is above the limits"));
  }
  const auto* frame = verified<wire::Requests>(head_);
  if (!frame) return fail(protocol_error("a message is not a request"));
  if (frame->first() != requests_ + 1) {
    return fail(protocol_error("a request is out of order: " + std::to_string(frame->first()) +
                               " after " + std::to_string(requests_)));
  }
  copies_ = CopyBudget(head_.size());
  const auto* list = frame->list();
  const bool calls =
      list->size() > 0 && list->Get(list->size() - 1)->body_type() == wire::Body::Call;
  if (calls && session_) session_->device().wake();
  work(true);
  Status status = run(*frame);
  work(false);
  return status;
}

Status ServerCore::run(const wire::Requests& frame) noexcept {
  if (frame.list()->size() == 0 && payload_ > 0) {
    return fail(protocol_error("a payload without a request"));
  }
  for (flatbuffers::uoffset_t i = 0; i < frame.list()->size(); ++i) {
    const wire::Request& request = *frame.list()->Get(i);
    const wire::Body type = request.body_type();
    const bool last = i + 1 == frame.list()->size();
    const bool takes = type == wire::Body::BlobPart ||
                       (type == wire::Body::Write && !request.body_as_Write()->bytes());
    if (takes ? !last : last && payload_ > 0) {
      return fail(protocol_error("the payload is not that of the last request"));
    }
    const bool may_suspend = type == wire::Body::Resume ||
                             (type == wire::Body::Call && request.body_as_Call()->dispatch());
    if (may_suspend && !last) {
      return fail(protocol_error("a request that may be suspended is not the last of its frame"));
    }
    if (i > 0 && options_.activity) options_.activity(true);  // each has its own time limit
    TAPML_TRY(run(++requests_, request));
  }
  return {};
}

runtime::Deadline ServerCore::deadline_of(int64_t timeout) const noexcept {
  // A deadline centuries away is none.
  constexpr int64_t kFar = int64_t{1} << 60;
  if (timeout < 0 || timeout > kFar) return {};
  return link_.arrived() + std::chrono::nanoseconds(timeout);
}

void ServerCore::shorten_deadline(int64_t timeout) noexcept {
  const runtime::Deadline own = deadline_of(timeout);
  if (!deadline_ || (own && *own < *deadline_)) deadline_ = own;
}

Status ServerCore::awaited() const noexcept {
  if (link_.interrupt().load(std::memory_order_relaxed)) {
    return fail(platform_error(PlatformFault::kCancelled, "the request was cancelled"));
  }
  if (runtime::passed(deadline_)) {
    return fail(
        platform_error(PlatformFault::kTimeout, "the request was not done before its deadline"));
  }
  return {};
}

// Handlers decide whether their request may go on; an error here ends the session.
Status ServerCore::run(uint64_t id, const wire::Request& request) noexcept {
  struct Running {
    ServerLink& link;
    bool goes_on = false;  // in another request
    ~Running() {
      if (!goes_on) link.end_request();
    }
  } running{link_};
  deadline_.reset();
  if (has_answer(request)) {
    link_.begin_request(id);
    deadline_ = deadline_of(request.timeout());
  }
  Status status;
  bool answers = false, answered = false;  // with Done or Failure; otherwise by its handler
  switch (request.body_type()) {
    case wire::Body::Allocate:
      answers = request.body_as_Allocate()->reply();
      status = handle(*request.body_as_Allocate());
      break;
    case wire::Body::Release:
      status = handle(*request.body_as_Release());
      break;
    case wire::Body::BeginBlob:
      status = handle(*request.body_as_BeginBlob());
      break;
    case wire::Body::BlobPart:
      status = handle(*request.body_as_BlobPart());
      break;
    case wire::Body::LoadModule:
      answers = true;
      status = handle(*request.body_as_LoadModule());
      break;
    case wire::Body::GetKernel:
      answers = request.body_as_GetKernel()->reply();
      status = handle(*request.body_as_GetKernel());
      break;
    case wire::Body::CreateStream:
      status = handle(*request.body_as_CreateStream());
      break;
    case wire::Body::Write:
      status = handle(*request.body_as_Write());
      break;
    case wire::Body::Copy:
      status = handle(*request.body_as_Copy());
      break;
    case wire::Body::FillZero:
      status = handle(*request.body_as_FillZero());
      break;
    case wire::Body::Launch:
      status = handle(*request.body_as_Launch());
      break;
    case wire::Body::Record:
      status = handle(*request.body_as_Record());
      break;
    case wire::Body::WaitEvent:
      status = handle(*request.body_as_WaitEvent());
      break;
    case wire::Body::Read:
      answers = true;
      answered = request.body_as_Read()->size() > 0;
      status = read(id, *request.body_as_Read());
      break;
    case wire::Body::Synchronize:
      answers = true;
      status = handle(*request.body_as_Synchronize());
      break;
    case wire::Body::OpenVm:
      answers = true;
      status = handle(*request.body_as_OpenVm());
      break;
    case wire::Body::Call:
      answers = answered = true;
      {
        ServedCall served{.vm = request.body_as_Call()->vm(), .request = id};
        status = call(served, *request.body_as_Call());
        id = served.request;
      }
      if (id > 0) break;
      answers = false;
      status = {};
      break;
    case wire::Body::Resume:
      answers = answered = !request.body_as_Resume()->abandoned();
      status = resume(id, *request.body_as_Resume());
      running.goes_on = answers && static_cast<bool>(status);
      break;
    case wire::Body::FindBlob:
      if (!reply_found(id, handle(*request.body_as_FindBlob()))) return fail(*broken_);
      break;
    case wire::Body::WriteContent:
      if (!reply_found(id, handle(*request.body_as_WriteContent()))) return fail(*broken_);
      break;
    case wire::Body::Ping:
      if (!reply(id, wire::CreatePong(builder_, runtime::trace_now()))) return fail(*broken_);
      break;
    case wire::Body::StartTrace:
      status = session_->start_trace();
      break;
    case wire::Body::ReadTrace:
      answers = answered = true;
      status = read_trace(id);
      break;
    case wire::Body::WriteBlob:
      status = handle(*request.body_as_WriteBlob());
      break;
    case wire::Body::Cancel:  // handled by the link
      break;
    case wire::Body::Hello:
    case wire::Body::NONE:
      return fail(protocol_error("a request is not allowed at this point"));
    default:
      return fail(protocol_error("a request is unknown to this version"));
  }
  if (copies_.overdrawn() && !broken_) broken_ = shared_parts_error();
  if (broken_) return fail(*broken_);
  if (!answers) {
    if (!status) keep(std::move(status).error());
  } else if ((!status || !answered) && !reply(id, status)) {
    return fail(*broken_);
  }
  return {};
}

// --- failures ----------------------------------------------------------------------------------

void ServerCore::keep(Error error) noexcept {
  if (!kept_) kept_ = std::move(error);
}

Status ServerCore::surface() noexcept {
  if (!kept_) return {};
  Error error = std::move(*kept_);
  kept_.reset();
  return fail(std::move(error));
}

// --- the channel -------------------------------------------------------------------------------

// While the device works, the link attends to the client.
void ServerCore::work(bool begins) noexcept {
  working_ = begins;
  if (begins) {
    link_.begin_work();
  } else {
    link_.end_work();
  }
  if (options_.activity) options_.activity(begins);
}

bool ServerCore::send(std::span<const std::byte> head,
                      std::span<const std::byte> payload) noexcept {
  if (broken_) return false;
  const bool pause = working_;
  if (pause) work(false);
  Status sent = link_.send(head, payload, Clock::now() + options_.limits.idle);
  if (is_timeout(sent)) sent = fail(lost_error("the client does not read replies"));
  if (!sent) broken_ = std::move(sent).error();
  if (pause) work(true);
  return !broken_;
}

bool ServerCore::reply(uint64_t request, const Status& status) noexcept {
  if (status) return reply(request, wire::CreateDone(builder_));
  return reply(request, put_error(builder_, status.error(), false, log_of(status.error())));
}

bool ServerCore::reply_found(uint64_t request, const Result<bool>& found) noexcept {
  if (!found) return reply(request, Status(fail(found.error())));
  if (!*found) return reply(request, wire::CreateMissing(builder_));
  return reply(request, wire::CreateDone(builder_));
}

// Receives the next bytes of the payload. Sends signs of life to a slow client meanwhile.
bool ServerCore::take(std::span<std::byte> to) noexcept {
  const bool pause = working_;
  if (pause) work(false);
  const Clock::time_point end = Clock::now() + options_.limits.idle;
  Status taken;
  for (;;) {
    taken = link_.receive_payload(to, std::min(end, Clock::now() + options_.limits.heartbeat));
    if (!is_timeout(taken)) break;
    if (Clock::now() >= end) {
      taken = fail(lost_error("the client stopped in the middle of a frame"));
      break;
    }
    flatbuffers::FlatBufferBuilder builder;
    const auto head = finish_reply(builder, 0, 0, wire::CreateHeartbeat(builder));
    if (!send(head)) break;
  }
  if (!taken && !broken_) broken_ = std::move(taken).error();
  payload_ -= std::min<uint64_t>(payload_, to.size());
  if (pause) work(true);
  return !broken_;
}

// A small payload must not ask for much memory: no more than its destination holds, nor than a
// frame may carry.
Status ServerCore::check_packed(uint64_t unpacked, uint64_t room) noexcept {
  const uint64_t most = std::min(room, options_.limits.payload_bytes);
  const bool enabled = (capabilities_ & kCapabilityZstd) != 0;
  if (enabled && unpacked <= most && payload_ < unpacked) return {};
  Error error = protocol_error("the size of a packed payload is invalid");
  error.expected =
      enabled ? "fewer bytes than the at most " + std::to_string(most) + " that they unpack to"
              : "none: both sides have no compression in common";
  error.found = std::to_string(payload_) + " bytes for " + std::to_string(unpacked);
  return fail(std::move(error));
}

Status ServerCore::take_packed(std::span<std::byte> to) noexcept {
  packed_.resize(static_cast<size_t>(payload_));
  if (!take(packed_) || packer_.unpack(packed_, to)) return {};
  return fail(protocol_error("a packed payload does not unpack to the " +
                             std::to_string(to.size()) + " bytes that were announced"));
}

bool ServerCore::skip_payload() noexcept {
  staging_.resize(kPartBytes);
  while (payload_ > 0) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(payload_, staging_.size()));
    if (!take(std::span(staging_).first(size))) return false;
  }
  return true;
}

}  // namespace tapml::rpc
