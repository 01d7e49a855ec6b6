#include "rpc/session/host/attended_link.h"

#include <algorithm>

#include "rpc/session/server_session.h"
#include "rpc/session/wire.h"

namespace tapml::rpc {

namespace {

// Work that lasts longer is attended to.
constexpr std::chrono::milliseconds kWorkTick{25};
// Without work for so long, the attendant sleeps until there is some.
constexpr std::chrono::seconds kRest{1};
// How long the attendant keeps the channel while nothing comes in.
constexpr std::chrono::milliseconds kLook{20};
// Frames that are read ahead at most, and bytes of them beyond which no other one is.
constexpr size_t kAheadFrames = 256;
constexpr size_t kAheadBytes = size_t{4} << 20;

}  // namespace

AttendedLink::AttendedLink(Channel& channel, std::chrono::milliseconds heartbeat)
    : ServerLink(channel),
      heartbeat_(heartbeat),
      attendant_([this] { attend(); }) {}

AttendedLink::~AttendedLink() {
  {
    std::lock_guard guard(lock_);
    stop_ = true;
  }
  changed_.notify_all();
  attendant_.join();
}

void AttendedLink::begin_work() noexcept {
  bool wake = false;
  {
    std::lock_guard guard(lock_);
    working_ = true;
    ++works_;
    wake = asleep_;
    asleep_ = false;
  }
  if (wake) changed_.notify_all();
}

void AttendedLink::end_work() noexcept {
  std::lock_guard guard(lock_);
  working_ = false;
  last_work_ = Clock::now();
}

void AttendedLink::look() noexcept {
  std::unique_lock held(lock_);
  if (may_read_ahead()) read_ahead(held, Clock::now());
}

Status AttendedLink::receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                             runtime::Deadline deadline) noexcept {
  std::unique_lock held(lock_);
  while (attendant_reads_ && ahead_.empty()) changed_.wait(held);
  // Nobody is there any more to see what is left to do.
  if (error_) return fail(*error_);
  if (!ahead_.empty()) {
    head = std::move(ahead_.front().head);
    payload_left_ = payload_bytes = ahead_.front().payload;
    arrived_ = ahead_.front().arrived;
    ahead_bytes_ -= head.size();
    ahead_.pop_front();
    return {};
  }
  held.unlock();
  TAPML_TRY(channel_.receive(head_, payload_bytes, deadline));
  head.swap(head_);
  arrived_ = Clock::now();
  held.lock();
  payload_left_ = payload_bytes;
  return {};
}

Status AttendedLink::receive_payload(std::span<std::byte> to, runtime::Deadline deadline) noexcept {
  TAPML_TRY(channel_.receive_payload(to, deadline));
  std::lock_guard guard(lock_);
  payload_left_ -= std::min<uint64_t>(payload_left_, to.size());
  return {};
}

Status AttendedLink::send(std::span<const std::byte> head, std::span<const std::byte> payload,
                          runtime::Deadline deadline) noexcept {
  // A sign of life that the client does not take has the channel.
  if (!lock_until(sending_, deadline.value_or(Clock::time_point::max()))) {
    return fail(platform_error(PlatformFault::kTimeout, "the client takes no signs of life"));
  }
  const std::lock_guard guard(sending_, std::adopt_lock);
  last_sent_ = Clock::now();
  return channel_.send(head, payload, deadline);
}

// --- the attendant -----------------------------------------------------------------------------

void AttendedLink::attend() noexcept {
  std::unique_lock held(lock_);
  uint64_t seen = 0;                      // work that was already under way at the last tick
  Clock::time_point sign = Clock::now();  // of life, or the begin of a busy time
  while (!stop_) {
    const Clock::time_point now = Clock::now();
    if (!working_ && now - last_work_ > kRest) {
      asleep_ = true;
      changed_.wait(held, [&] { return stop_ || !asleep_; });
      sign = Clock::now();
      continue;
    }
    // However short each request is: whoever waits for the last of many must hear something.
    sign = std::max(sign, last_sent_.load());
    if (working_ && now - sign >= heartbeat_) {
      sign = now;
      keep_alive(held);
    } else if (working_ && works_ == seen && may_read_ahead()) {
      read_ahead(held, Clock::now() + kLook);
    } else {
      seen = works_;
      changed_.wait_for(held, kWorkTick);
    }
  }
}

void AttendedLink::keep_alive(std::unique_lock<std::mutex>& held) noexcept {
  held.unlock();
  {
    std::lock_guard guard(sending_);
    const std::vector<std::byte> frame = heartbeat_frame();
    // Half a sign must be followed by its other half before anything else is sent. Whoever serves
    // the session waits for it as long as for a client, and then ends it.
    Status sent;
    do {
      sent = channel_.send(frame, {}, Clock::now() + heartbeat_);
    } while (!sent && sent.error().fault == PlatformFault::kTimeout && !stop_);
  }
  held.lock();
}

bool AttendedLink::may_read_ahead() const noexcept {
  // What lies in the channel first must be a head.
  return !error_ && !attendant_reads_ && payload_left_ == 0 && ahead_.size() < kAheadFrames &&
         ahead_bytes_ < kAheadBytes && (ahead_.empty() || ahead_.back().payload == 0);
}

void AttendedLink::look_for_cancel(std::span<const std::byte> head) noexcept {
  const auto* frame = verified<wire::Requests>(head);
  if (!frame || frame->list()->size() != 1) return;
  if (const auto* body = frame->list()->Get(0)->body_as_Cancel()) cancel(body->request());
}

// Receives until then, or one frame. Whoever else wants to receive waits meanwhile.
void AttendedLink::read_ahead(std::unique_lock<std::mutex>& held,
                              Clock::time_point until) noexcept {
  attendant_reads_ = true;
  held.unlock();
  uint64_t bytes = 0;
  Status status = channel_.receive(head_, bytes, until);
  Frame frame;
  if (status) {
    frame.head.swap(head_);
    frame.payload = bytes;
    frame.arrived = Clock::now();
    look_for_cancel(frame.head);
  }
  held.lock();
  attendant_reads_ = false;
  if (status) {
    ahead_bytes_ += frame.head.size();
    ahead_.push_back(std::move(frame));
  } else if (status.error().fault != PlatformFault::kTimeout) {
    error_ = std::move(status).error();
    cancel_all();
  }
  changed_.notify_all();
}

}  // namespace tapml::rpc
