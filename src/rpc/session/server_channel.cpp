#include "rpc/session/server_channel.h"

#include <algorithm>
#include <tuple>

#include "base/printable.h"
#include "runtime/session_errors.h"

namespace tapml::rpc {

namespace {

bool is_timeout(const Status& status) {
  return !status && status.error().fault == PlatformFault::kTimeout;
}

}  // namespace

void ServerChannel::agree(uint64_t ours, uint64_t clients) {
  capabilities_ = (ours | (packer_.present() ? kCapabilityZstd : 0)) & clients;
  if (has(kCapabilityZstd)) packer_.enable();
}

Status ServerChannel::receive(Clock::time_point until) noexcept {
  TAPML_TRY(link_.receive(head_, payload_, until));
  copies_ = CopyBudget(head_.size());
  return {};
}

// --- the request -------------------------------------------------------------------------------

runtime::Deadline ServerChannel::deadline_of(int64_t timeout) const noexcept {
  // A deadline centuries away is none.
  constexpr int64_t kFar = int64_t{1} << 60;
  if (timeout < 0 || timeout > kFar) return {};
  return link_.arrived() + std::chrono::nanoseconds(timeout);
}

void ServerChannel::shorten_deadline(int64_t timeout) noexcept {
  const runtime::Deadline own = deadline_of(timeout);
  if (!deadline_ || (own && *own < *deadline_)) deadline_ = own;
}

Status ServerChannel::awaited() const noexcept {
  if (link_.interrupt().load(std::memory_order_relaxed)) {
    return fail(platform_error(PlatformFault::kCancelled, "the request was cancelled"));
  }
  if (runtime::passed(deadline_)) {
    return fail(
        platform_error(PlatformFault::kTimeout, "the request was not done before its deadline"));
  }
  return {};
}

// --- its payload -------------------------------------------------------------------------------

// Sends signs of life to a slow client meanwhile.
bool ServerChannel::take(std::span<std::byte> to) noexcept {
  const bool pause = working_;
  if (pause) work(false);
  const Clock::time_point end = Clock::now() + limits().idle;
  Status taken;
  for (;;) {
    taken = link_.receive_payload(to, std::min(end, Clock::now() + limits().heartbeat));
    if (!is_timeout(taken)) break;
    if (Clock::now() >= end) {
      taken = fail(lost_error("the client stopped in the middle of a frame"));
      break;
    }
    flatbuffers::FlatBufferBuilder builder;
    const auto head = finish_reply(builder, 0, 0, wire::CreateHeartbeat(builder));
    if (!send(head)) break;
  }
  if (!taken) break_with(std::move(taken).error());
  payload_ -= std::min<uint64_t>(payload_, to.size());
  if (pause) work(true);
  return !broken_;
}

// A small payload must not ask for much memory: no more than its destination holds, nor than a
// frame may carry.
Status ServerChannel::check_packed(uint64_t unpacked, uint64_t room) const noexcept {
  const uint64_t most = std::min(room, limits().payload_bytes);
  const bool enabled = has(kCapabilityZstd);
  if (enabled && unpacked <= most && payload_ < unpacked) return {};
  Error error = protocol_error("the size of a packed payload is invalid");
  error.expected =
      enabled ? "fewer bytes than the at most " + std::to_string(most) + " that they unpack to"
              : "none: both sides have no compression in common";
  error.found = std::to_string(payload_) + " bytes for " + std::to_string(unpacked);
  return fail(std::move(error));
}

Status ServerChannel::take_packed(std::span<std::byte> to) noexcept {
  packed_.resize(static_cast<size_t>(payload_));
  if (!take(packed_) || packer_.unpack(packed_, to)) return {};
  return fail(protocol_error("a packed payload does not unpack to the " +
                             std::to_string(to.size()) + " bytes that were announced"));
}

bool ServerChannel::skip_payload() noexcept {
  while (payload_ > 0) {
    if (!take(staging(std::min<uint64_t>(payload_, kPartBytes)))) return false;
  }
  return true;
}

std::span<std::byte> ServerChannel::staging(uint64_t bytes) {
  staging_.resize(std::max<size_t>(static_cast<size_t>(bytes), kPartBytes));
  return std::span(staging_).first(static_cast<size_t>(bytes));
}

// --- replies -----------------------------------------------------------------------------------

bool ServerChannel::send(std::span<const std::byte> head,
                         std::span<const std::byte> payload) noexcept {
  if (broken_) return false;
  const bool pause = working_;
  if (pause) work(false);
  Status sent = link_.send(head, payload, Clock::now() + limits().idle);
  if (is_timeout(sent)) sent = fail(lost_error("the client does not read replies"));
  if (!sent) broken_ = std::move(sent).error();
  if (pause) work(true);
  return !broken_;
}

bool ServerChannel::reply(uint64_t request, const Status& status) noexcept {
  if (status) return reply(request, wire::CreateDone(builder_));
  return reply(request, put_error(builder_, status.error(), false, log_of(status.error())));
}

bool ServerChannel::reply_found(uint64_t request, const Result<bool>& found) noexcept {
  if (!found) return reply(request, Status(fail(found.error())));
  if (!*found) return reply(request, wire::CreateMissing(builder_));
  return reply(request, wire::CreateDone(builder_));
}

// --- failures ----------------------------------------------------------------------------------

Status ServerChannel::end(Error error) noexcept {
  builder_.Clear();
  const auto head = finish_reply(builder_, 0, 0, put_error(builder_, error, true, log_of(error)));
  std::ignore = link_.send(head, {}, Clock::now() + limits().heartbeat);
  say("ended: " + error.message);
  return fail(std::move(error));
}

Status ServerChannel::surface() noexcept {
  if (!kept_) return {};
  Error error = std::move(*kept_);
  kept_.reset();
  return fail(std::move(error));
}

void ServerChannel::work(bool begins) noexcept {
  working_ = begins;
  if (begins) {
    link_.begin_work();
  } else {
    link_.end_work();
  }
  if (options_.activity) options_.activity(begins);
}

void ServerChannel::note(const std::string& line) const {
  if (options_.recent) options_.recent->add(line);
}

// The log before a failure of the platform or of tapml; errors of the input need none.
std::vector<std::string> ServerChannel::log_of(const Error& error) const {
  if (!options_.recent || error.kind == ErrorKind::kUser) return {};
  return options_.recent->lines();
}

void ServerChannel::say(const std::string& line) const {
  // The line contains names from the client.
  const std::string shown = printable_line(line);
  note(shown);
  if (options_.log) options_.log(shown);
}

}  // namespace tapml::rpc
