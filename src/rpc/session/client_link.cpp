#include "rpc/session/client_link.h"

#include <algorithm>
#include <tuple>

namespace tapml::rpc {

using runtime::LockGuard;

namespace {

// A batch of requests goes out when it is about so large.
constexpr size_t kBatchBytes = size_t{32} << 10;
// What a session that ends still has to say may take so long.
constexpr std::chrono::milliseconds kLastWords{500};
// How long a thread looks at one thing before it looks at the others.
constexpr std::chrono::milliseconds kSlice{20};
// Frames of a server, which sends parts of kPartBytes.
constexpr uint64_t kMostPayload = 2 * kPartBytes;
// Bytes of a payload that are received in one go: each is a sign of life.
constexpr uint64_t kPieceBytes = uint64_t{256} << 10;

bool timed_out(const Status& status) {
  return !status && status.error().fault == PlatformFault::kTimeout;
}

// Nothing is wrong with the session.
bool gave_up(const Status& status) {
  return timed_out(status) || (!status && status.error().fault == PlatformFault::kCancelled);
}

}  // namespace

int64_t nanoseconds_left(const runtime::Deadline& deadline) noexcept {
  if (!deadline) return -1;
  const auto left =
      std::chrono::duration_cast<std::chrono::nanoseconds>(*deadline - Clock::now()).count();
  return std::max<int64_t>(left, 0);
}

ClientLink::~ClientLink() {
  {
    LockGuard guard(sending_);
    if (!batch_.empty() && alive()) std::ignore = flush({}, Clock::now() + kLastWords);
  }
  channel_->close();
}

RemoteSession::Traffic ClientLink::traffic() const noexcept {
  RemoteSession::Traffic traffic;
  traffic.requests = static_cast<int64_t>(issued_.load());
  traffic.waits = waits_.load();
  traffic.bytes_sent = bytes_sent_.load();
  traffic.bytes_received = bytes_received_.load();
  return traffic;
}

Status ClientLink::alive() noexcept {
  LockGuard guard(state_);
  if (failed_) return fail(*failed_);
  return {};
}

// The first failure is the session's.
Status ClientLink::fail_all(Error error) noexcept {
  LockGuard guard(state_);
  if (!failed_) failed_ = std::move(error);
  changed_.notify();
  return fail(*failed_);
}

Status ClientLink::lock_sending(bool gives_up, const runtime::Deadline& deadline) noexcept {
  const Clock::time_point end = deadline.value_or(Clock::time_point::max());
  for (;;) {
    const bool looks = gives_up && interrupted_;
    if (lock_until(sending_, looks ? std::min(end, Clock::now() + kSlice) : end)) return {};
    if (Clock::now() >= end) return fail(too_late());
    if (interrupted()) return fail(was_cancelled());
  }
}

Status ClientLink::add(wire::Body type, flatbuffers::Offset<void> body, Reply* reply,
                       std::span<const std::byte> payload, runtime::Deadline deadline,
                       bool limited) noexcept {
  const int64_t timeout = reply ? nanoseconds_left(deadline) : -1;
  batch_.push_back(wire::CreateRequest(builder_, type, body, timeout));
  const uint64_t id = issued_.fetch_add(1) + 1;
  if (reply) {
    reply->request_ = id;
    LockGuard guard(state_);
    waiting_[id] = reply;
  }
  // Where nothing is taken, what nobody needs any more waits for no one.
  if (type == wire::Body::Release && stuck_) deadline = Clock::now();
  // Nothing may stand behind these in their frame.
  const bool last = type == wire::Body::Cancel || type == wire::Body::Resume;
  if (!reply && payload.empty() && !last && builder_.GetSize() < kBatchBytes) return {};
  Status sent = send_unsent(deadline);
  if (gave_up(sent) && (reply || !payload.empty())) {
    // Nobody is to do later what is given up now.
    batch_.pop_back();
    --issued_;
  } else if (sent || (last && gave_up(sent))) {
    sent = flush(payload, deadline);
  }
  if (!sent && reply) abandon(*reply);
  // What nobody waits for is on its way.
  if (gave_up(sent) && !reply && payload.empty() && !(limited && timed_out(sent))) return {};
  return sent;
}

Error ClientLink::was_cancelled() {
  return platform_error(PlatformFault::kCancelled, "the wait for the other side was cancelled");
}

Status ClientLink::may_begin(const runtime::Deadline& deadline,
                             const std::atomic<bool>* interrupt) const noexcept {
  if (interrupted(interrupt)) return fail(was_cancelled());
  if (deadline && Clock::now() >= *deadline) return fail(too_late());
  return {};
}

Error ClientLink::too_late() {
  return platform_error(PlatformFault::kTimeout,
                        "the other side did not take the request before the deadline");
}

// Sends the batch, behind what was left unsent, or leaves it there. The caller holds sending_.
Status ClientLink::flush(std::span<const std::byte> payload, runtime::Deadline deadline) noexcept {
  const uint64_t first = issued_.load() - batch_.size() + 1;
  const auto list = builder_.CreateVector(batch_);
  builder_.Finish(wire::CreateRequests(builder_, first, list));
  const auto head = bytes_of(builder_);
  Status sent = send_unsent(deadline);
  if (sent) sent = send_frame(head, payload, deadline);
  // Part of it may be on its way: nothing else can be sent before its rest.
  if (gave_up(sent)) {
    unsent_.push_back({{head.begin(), head.end()}, {payload.begin(), payload.end()}});
  }
  batch_.clear();
  builder_.Clear();
  return sent;
}

// What is left of frames whose deadline passed.
Status ClientLink::send_unsent(runtime::Deadline deadline) noexcept {
  while (!unsent_.empty()) {
    TAPML_TRY(send_frame(unsent_.front().head, unsent_.front().payload, deadline));
    unsent_.pop_front();
  }
  return {};
}

// kTimeout, kCancelled: the frame is to be sent again. Anything else is the session's failure.
Status ClientLink::send_frame(std::span<const std::byte> head, std::span<const std::byte> payload,
                              runtime::Deadline deadline) noexcept {
  const Clock::time_point start = Clock::now();
  Status sent;
  for (;;) {
    const Clock::time_point slice = Clock::now() + kSlice;
    sent = channel_->send(head, payload, deadline ? std::min(slice, *deadline) : slice);
    if (!timed_out(sent)) break;
    // The server may be unable to take this until what it sends was taken.
    receive_some(Clock::now());
    sent = alive();
    if (!sent) break;
    Clock::time_point heard;
    {
      LockGuard guard(state_);
      heard = std::max(heard_, start);
    }
    if (Clock::now() - heard > silence_) {
      sent = fail(lost_error("the other side neither takes requests nor gives a sign of life"));
      break;
    }
    if (deadline && Clock::now() >= *deadline) {
      stuck_ = true;
      return fail(too_late());
    }
    if (interrupted()) return fail(was_cancelled());
  }
  stuck_ = false;
  bytes_sent_ += static_cast<int64_t>(head.size() + payload.size());
  if (sent) packer_.sent(payload.size(), Clock::now() - start);
  // Why the other side is gone may have come before it went.
  if (!sent && sent.error().fault == PlatformFault::kLost) {
    const Clock::time_point until = Clock::now() + kSlice;
    while (alive() && Clock::now() < until) receive_some(until);
  }
  if (!sent) return fail_all(std::move(sent).error());
  return {};
}

Status ClientLink::wait(Reply& reply, runtime::Deadline deadline,
                        const std::atomic<bool>* interrupt) noexcept {
  ++waits_;
  const Clock::time_point start = Clock::now();
  const bool interruptible = interrupt || interrupted_;
  bool cancelled = false;
  state_.lock();
  while (!reply.done_ && !failed_) {
    const Clock::time_point now = Clock::now();
    if (deadline && now >= *deadline) break;
    const Clock::time_point silent = std::max(heard_, start) + silence_;
    if (now >= silent) {
      state_.unlock();
      std::ignore = fail_all(lost_error("the other side gave no sign of life for " +
                                        std::to_string(silence_.count()) + " ms"));
      state_.lock();
      break;
    }
    if (!cancelled && interruptible) {
      state_.unlock();
      cancelled = interrupted(interrupt);
      if (cancelled) {
        deadline = std::min(deadline.value_or(Clock::time_point::max()), now + kGrace);
        std::ignore = post(
            [&](flatbuffers::FlatBufferBuilder& builder) {
              return wire::CreateCancel(builder, reply.request_);
            },
            nullptr, {}, deadline);
      }
      state_.lock();
      if (reply.done_ || failed_ || cancelled) continue;
    }
    Clock::time_point until = silent;
    if (deadline) until = std::min(until, *deadline);
    if (interruptible && !cancelled) until = std::min(until, now + kSlice);
    if (receiving_) {
      changed_.wait_until(state_, until);
    } else {
      state_.unlock();
      receive_some(until);
      state_.lock();
    }
  }
  const bool done = reply.done_;
  const std::optional<Error> failed = failed_;
  state_.unlock();
  if (!done) {
    abandon(reply);
    if (failed) return fail(*failed);
    if (cancelled) return fail(was_cancelled());
    return fail(platform_error(PlatformFault::kTimeout,
                               "the remote device did not answer before the deadline"));
  }
  if (reply.stream_error_) return fail(*reply.stream_error_);
  if (reply.error_) return fail(*reply.error_);
  return {};
}

void ClientLink::abandon(Reply& reply) noexcept {
  state_.lock();
  waiting_.erase(reply.request_);
  while (filling_ == &reply) changed_.wait_until(state_, Clock::now() + kSlice);
  state_.unlock();
}

// Receives where no other thread does; what goes wrong is the session's failure.
void ClientLink::receive_some(Clock::time_point until) noexcept {
  {
    LockGuard guard(state_);
    if (receiving_ || failed_) return;
    receiving_ = true;
  }
  Status status = receive_frame(until);
  if (!status && !timed_out(status)) std::ignore = fail_all(std::move(status).error());
  LockGuard guard(state_);
  receiving_ = false;
  changed_.notify();
}

// One frame, or what is left of the one that had begun.
Status ClientLink::receive_frame(Clock::time_point until) noexcept {
  if (inbound_.payload == 0) {
    uint64_t payload = 0;
    TAPML_TRY(channel_->receive(inbound_.head, payload, until));
    bytes_received_ += static_cast<int64_t>(inbound_.head.size() + payload);
    {
      LockGuard guard(state_);
      heard_ = Clock::now();
    }
    TAPML_TRY(take(inbound_.head, payload));
  }
  while (inbound_.payload > 0) TAPML_TRY(receive_payload(until));
  return inbound_.streamed ? deliver() : Status();
}

// The head of a frame: completes the reply that it is, or says where the payload goes.
Status ClientLink::take(std::vector<std::byte>& head, uint64_t payload) noexcept {
  const auto* message = verified<wire::Reply>(head);
  if (!message) return fail(protocol_error("the other side sent something that is no reply"));
  const auto* failure = message->answer_as_Failure();
  // At once: it may be a timeout of the server's, which is no deadline that passed here.
  CopyBudget copies(head.size());
  if (failure && failure->fatal()) {
    TAPML_ASSIGN(Error error, get_error(*failure, copies));
    return fail_all(std::move(error));
  }
  const auto* heartbeat = message->answer_as_Heartbeat();
  if (heartbeat && message->sequence() == 0 && payload == 0) {
    const LockGuard guard(state_);
    const auto found = waiting_.find(message->request());
    if (found != waiting_.end() && found->second->progress_) {
      found->second->progress_(heartbeat->done(), heartbeat->total());
    }
    return {};
  }
  if (message->sequence() != replies_ + 1) {
    return fail(
        protocol_error("a reply is out of its order: " + std::to_string(message->sequence()) +
                       " after " + std::to_string(replies_)));
  }
  ++replies_;
  if (message->request() == 0 || message->request() > issued_.load()) {
    return fail(protocol_error("a reply to a request that was never made: " +
                               std::to_string(message->request())));
  }
  const auto* data = message->answer_as_Data();
  const auto* result = message->answer_as_Result();
  const bool streamed =
      message->answer_as_Content() || message->answer_as_Captured() || message->answer_as_Timed();
  const bool bare = !data && !result && !message->answer_as_Content();
  if ((bare && payload > 0) || payload > kMostPayload) {
    return fail(protocol_error("a reply with " + std::to_string(payload) + " bytes behind it"));
  }
  inbound_.request = message->request();
  inbound_.streamed = streamed;
  if (streamed) return take_streamed(*message, payload);
  LockGuard guard(state_);
  auto found = waiting_.find(message->request());
  Reply* reply = found == waiting_.end() ? nullptr : found->second;
  inbound_.unpacked = 0;
  if (data) return take_data(*data, reply, payload);
  inbound_.payload = payload;
  inbound_.last = true;
  if (!reply) return {};  // it came too late
  if (result && payload > 0) {
    if (!reply->takes_tail_) return fail(protocol_error("a result with bytes nobody asked for"));
    reply->tail_bytes_ = static_cast<size_t>(payload);
    reply->tail_ = std::make_unique_for_overwrite<std::byte[]>(reply->tail_bytes_);
    reply->to_ = {reply->tail_.get(), reply->tail_bytes_};
  }
  if (failure) {
    TAPML_ASSIGN(reply->error_, get_error(*failure, copies));
  } else if (!reply->to_.empty() && payload == 0) {
    return fail(protocol_error("a read was answered without what is read"));
  }
  reply->head_.swap(head);
  reply->message_ = flatbuffers::GetRoot<wire::Reply>(reply->head_.data());
  if (payload == 0) finish(*reply);
  return {};
}

// The head of a part of what is read. The caller holds state_.
Status ClientLink::take_data(const wire::Data& data, Reply* reply, uint64_t payload) noexcept {
  const uint64_t size = data.unpacked() > 0 ? data.unpacked() : payload;
  if (data.unpacked() > 0 && (!packer_.present() || size > kMostPayload || payload >= size)) {
    return fail(protocol_error("a packed part that cannot be right: " + std::to_string(payload) +
                               " bytes for " + std::to_string(size)));
  }
  if (reply && (reply->takes_tail_ || data.offset() != static_cast<int64_t>(reply->received_) ||
                size > reply->to_.size() - reply->received_ ||
                data.last() != (size == reply->to_.size() - reply->received_))) {
    return fail(protocol_error("a part of what is read is not the next one"));
  }
  inbound_.payload = payload;
  inbound_.last = data.last();
  inbound_.unpacked = data.unpacked();
  if (data.unpacked() > 0) inbound_.packed.resize(static_cast<size_t>(payload));
  if (payload == 0 && data.last() && reply) finish(*reply);
  return {};
}

// The caller holds state_.
void ClientLink::finish(Reply& reply) noexcept {
  waiting_.erase(reply.request_);
  reply.done_ = true;
  changed_.notify();
}

// A piece of the payload: straight to where the reader wants it.
Status ClientLink::receive_payload(Clock::time_point until) noexcept {
  const auto size = static_cast<size_t>(std::min(inbound_.payload, kPieceBytes));
  std::span<std::byte> to;
  Reply* reply = nullptr;
  {
    LockGuard guard(state_);
    auto found = waiting_.find(inbound_.request);
    if (inbound_.unpacked > 0 || inbound_.streamed) {
      to = std::span(inbound_.packed).last(inbound_.payload).first(size);
    } else if (found != waiting_.end()) {
      reply = found->second;
      to = reply->to_.subspan(reply->received_, size);
      filling_ = reply;
    }
  }
  if (to.empty()) {
    inbound_.scrap.resize(size);
    to = inbound_.scrap;
  }
  // Whoever reads may give up meanwhile, and must not wait for long.
  Status status = channel_->receive_payload(to, std::min(until, Clock::now() + kSlice));
  LockGuard guard(state_);
  filling_ = nullptr;
  changed_.notify();
  if (!status) {
    if (timed_out(status) && Clock::now() < until) return {};
    return status;
  }
  heard_ = Clock::now();
  inbound_.payload -= size;
  if (inbound_.streamed) return {};
  if (inbound_.unpacked > 0) return inbound_.payload > 0 ? Status() : unpack();
  if (reply && waiting_.contains(inbound_.request)) {
    reply->received_ += size;
    if (inbound_.last && inbound_.payload == 0) finish(*reply);
  }
  return {};
}

// A reply in front of the answer.
Status ClientLink::take_streamed(const wire::Reply& message, uint64_t payload) noexcept {
  const auto* content = message.answer_as_Content();
  const uint64_t unpacked = content ? content->unpacked() : 0;
  if (unpacked > 0 && (!packer_.present() || unpacked > kMostPayload || payload >= unpacked)) {
    return fail(protocol_error("a packed part that cannot be right: " + std::to_string(payload) +
                               " bytes for " + std::to_string(unpacked)));
  }
  inbound_.payload = payload;
  inbound_.last = false;
  inbound_.unpacked = unpacked;
  inbound_.packed.resize(static_cast<size_t>(payload));
  LockGuard guard(state_);
  auto found = waiting_.find(message.request());
  if (found == waiting_.end() || found->second->stream_) return {};
  return fail(protocol_error("something in front of an answer that nobody asked for"));
}

// To whoever waits for it, once it is complete. The sink may take its time: that is what holds the
// other side back.
Status ClientLink::deliver() noexcept {
  inbound_.streamed = false;
  Reply* reply = nullptr;
  {
    LockGuard guard(state_);
    auto found = waiting_.find(inbound_.request);
    if (found == waiting_.end() || found->second->stream_error_) return {};
    filling_ = reply = found->second;
  }
  std::vector<std::byte> room(static_cast<size_t>(inbound_.unpacked));
  Status taken;
  if (inbound_.unpacked > 0 && !packer_.unpack(inbound_.packed, room)) {
    taken = fail(protocol_error("a packed part does not unpack to the " +
                                std::to_string(room.size()) + " bytes that it is to have"));
  } else {
    taken = reply->stream_(*flatbuffers::GetRoot<wire::Reply>(inbound_.head.data()),
                           inbound_.unpacked > 0 ? room : inbound_.packed);
  }
  LockGuard guard(state_);
  if (!taken) reply->stream_error_ = taken.error();
  filling_ = nullptr;
  heard_ = Clock::now();
  changed_.notify();
  if (!taken && taken.error().fault == PlatformFault::kProtocol) return taken;
  return {};
}

// A packed part that is complete. The caller holds state_, so that nobody gives up meanwhile.
Status ClientLink::unpack() noexcept {
  auto found = waiting_.find(inbound_.request);
  if (found == waiting_.end()) return {};
  Reply& reply = *found->second;
  const auto to = reply.to_.subspan(reply.received_, static_cast<size_t>(inbound_.unpacked));
  if (!packer_.unpack(inbound_.packed, to)) {
    return fail(protocol_error("a packed part does not unpack to the " + std::to_string(to.size()) +
                               " bytes that it is to have"));
  }
  reply.received_ += to.size();
  if (inbound_.last) finish(reply);
  return {};
}

}  // namespace tapml::rpc
