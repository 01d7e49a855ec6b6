// The client's end of a channel: requests go out in batches, replies come in for whoever waits.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "rpc/session/compression.h"
#include "rpc/session/condition.h"
#include "rpc/session/remote_session.h"
#include "rpc/session/wire.h"

namespace tapml::rpc {

// What is left until the deadline, for the other side's clock; -1: there is none.
int64_t nanoseconds_left(const runtime::Deadline& deadline) noexcept;

// Safe from several threads. No thread of its own: of those that wait for a reply one receives, for
// all of them; one whose send the server does not take receives meanwhile.
class ClientLink {
 public:
  ClientLink(std::unique_ptr<Channel> channel, const ConnectOptions& options)
      : channel_(std::move(channel)),
        silence_(options.silence),
        request_time_(options.request),
        interrupted_(options.interrupted),
        packer_(options.compressor, options.compression) {}
  ~ClientLink();
  ClientLink(const ClientLink&) = delete;
  ClientLink& operator=(const ClientLink&) = delete;

  // The reply to one request. It lives where the waiting thread lives.
  class Reply {
   public:
    explicit Reply(std::span<std::byte> to = {}) : to_(to) {}
    // Takes what a result may bring along, of whatever size.
    void expect_tail() { takes_tail_ = true; }
    size_t tail_bytes() const { return tail_bytes_; }
    std::unique_ptr<std::byte[]> take_tail() { return std::move(tail_); }
    // Takes what comes in front of the answer, and what is behind it, on the thread that receives:
    // it must not use the link. What it fails with is the wait's error; kProtocol: the session's.
    using Stream = std::function<Status(const wire::Reply&, std::span<const std::byte>)>;
    void expect_stream(Stream stream) { stream_ = std::move(stream); }
    // Called with each heartbeat that belongs to the request, on the thread that receives: it must
    // not use the link.
    using Progress = std::function<void(int64_t done, int64_t total)>;
    void expect_progress(Progress progress) { progress_ = std::move(progress); }
    // For one more request, once the answer to the one before has come.
    void expect_another() {
      done_ = false;
      received_ = 0;
      to_ = {};
      tail_bytes_ = 0;
      message_ = nullptr;
    }
    // False where the wait was given up: the other side may yet do what was asked.
    bool answered() const { return done_; }
    Reply(const Reply&) = delete;
    Reply& operator=(const Reply&) = delete;
    // Its answer once wait() was ok; null where the answer is another one.
    template <class Answer>
    const Answer* answer() const {
      return message_ ? message_->answer_as<Answer>() : nullptr;
    }
    size_t message_bytes() const { return head_.size(); }
    uint64_t request() const { return request_; }  // its id

   private:
    friend class ClientLink;
    std::span<std::byte> to_;  // for what is read
    size_t received_ = 0;      // of it
    uint64_t request_ = 0;
    bool done_ = false;
    bool takes_tail_ = false;
    std::unique_ptr<std::byte[]> tail_;
    size_t tail_bytes_ = 0;
    Stream stream_;
    Progress progress_;
    std::optional<Error> stream_error_;
    std::optional<Error> error_;
    std::vector<std::byte> head_;
    const wire::Reply* message_ = nullptr;  // in head_
  };

  // Adds the request that make(builder) builds; null where it cannot. Without a reply and a payload
  // it may stay behind until something else goes out; a payload is sent before this returns.
  // kTimeout, kCancelled: the other side may still get the request, later. Without a deadline what
  // goes out has the time of every request.
  template <class Make>
  Status post(Make&& make, Reply* reply = nullptr, std::span<const std::byte> payload = {},
              runtime::Deadline deadline = {}) noexcept {
    const bool limited = !deadline && request_time_.count() > 0;
    deadline = limit(deadline);
    TAPML_TRY(lock_sending(reply || !payload.empty(), deadline));
    const Unlock unlock{sending_};
    TAPML_TRY(alive());
    const auto body = make(builder_);
    if (body.IsNull()) return fail(internal_error("a request that could not be made"));
    return add(type_of(body), body.Union(), reply, payload, deadline, limited);
  }
  // The request that make(builder, unpacked) builds, with `bytes` behind it: packed where that
  // spares time, and `unpacked` is their size then, else 0.
  template <class Make>
  Status post_bytes(Make&& make, std::span<const std::byte> bytes,
                    runtime::Deadline deadline = {}) noexcept {
    deadline = limit(deadline);
    TAPML_TRY(may_begin(deadline));
    std::vector<std::byte> room;
    const std::span<const std::byte> packed = packer_.pack(bytes, room);
    const uint64_t unpacked = packed.empty() ? 0 : bytes.size();
    return post([&](flatbuffers::FlatBufferBuilder& builder) { return make(builder, unpacked); },
                nullptr, packed.empty() ? bytes : packed, deadline);
  }
  // Both sides can unpack.
  void enable_packing() { packer_.enable(); }
  // A wait's own deadline, or that of every request.
  runtime::Deadline limit(const runtime::Deadline& deadline) const noexcept {
    if (deadline || request_time_.count() == 0) return deadline;
    return Clock::now() + request_time_;
  }
  void set_interrupt(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }
  // kTimeout: the reply will be dropped when it comes. Where the wait is interrupted, or
  // `interrupt` is set, the server is asked to cancel the request. It has kGrace to answer; then
  // kCancelled, and the reply is dropped as well.
  static constexpr std::chrono::milliseconds kGrace{400};
  Status wait(Reply& reply, runtime::Deadline deadline = {},
              const std::atomic<bool>* interrupt = nullptr) noexcept;
  template <class Make>
  Status call(Make&& make, Reply& reply, runtime::Deadline deadline = {},
              const std::atomic<bool>* interrupt = nullptr) noexcept {
    deadline = limit(deadline);
    TAPML_TRY(may_begin(deadline, interrupt));
    TAPML_TRY(post(std::forward<Make>(make), &reply, {}, deadline));
    return wait(reply, deadline, interrupt);
  }
  // Ok where there is time, and nobody has interrupted.
  Status may_begin(const runtime::Deadline& deadline,
                   const std::atomic<bool>* interrupt = nullptr) const noexcept;
  // Nobody waits for the reply any more. Returns when nothing is written where it would have gone.
  void abandon(Reply& reply) noexcept;

  RemoteSession::Traffic traffic() const noexcept;

 private:
  // The frame that is coming in; belongs to the thread that receives.
  struct Inbound {
    std::vector<std::byte> head;
    uint64_t payload = 0;   // bytes still to come
    uint64_t request = 0;   // that they are for
    bool last = false;      // they complete it
    bool streamed = false;  // they are for its stream
    uint64_t unpacked = 0;  // what they unpack to; 0: they are as they are
    std::vector<std::byte> packed;
    std::vector<std::byte> scrap;  // what nobody waits for any more
  };

  template <class Message>
  static constexpr wire::Body type_of(flatbuffers::Offset<Message>) {
    return wire::BodyTraits<Message>::enum_value;
  }
  struct Unlock {
    runtime::Lock& lock;
    ~Unlock() { lock.unlock(); }
  };
  static Error too_late();
  static Error was_cancelled();
  bool interrupted(const std::atomic<bool>* interrupt = nullptr) const noexcept {
    return (interrupt && interrupt->load(std::memory_order_relaxed)) ||
           (interrupted_ && interrupted_());
  }
  // Takes sending_, which a thread may hold whose bytes nobody takes. `gives_up`: so does whoever
  // is interrupted.
  Status lock_sending(bool gives_up, const runtime::Deadline& deadline) noexcept;
  // `limited`: the deadline is that of every request, and to miss it is an error in any case.
  Status add(wire::Body type, flatbuffers::Offset<void> body, Reply* reply,
             std::span<const std::byte> payload, runtime::Deadline deadline, bool limited) noexcept;
  Status flush(std::span<const std::byte> payload, runtime::Deadline deadline) noexcept;
  Status send_frame(std::span<const std::byte> head, std::span<const std::byte> payload,
                    runtime::Deadline deadline) noexcept;
  Status send_unsent(runtime::Deadline deadline) noexcept;
  Status alive() noexcept;
  Status fail_all(Error error) noexcept;
  void receive_some(Clock::time_point until) noexcept;
  Status receive_frame(Clock::time_point until) noexcept;
  Status receive_payload(Clock::time_point until) noexcept;
  Status take(std::vector<std::byte>& head, uint64_t payload) noexcept;
  Status take_data(const wire::Data& data, Reply* reply, uint64_t payload) noexcept;
  Status unpack() noexcept;
  Status take_streamed(const wire::Reply& message, uint64_t payload) noexcept;
  Status deliver() noexcept;
  void finish(Reply& reply) noexcept;

  std::unique_ptr<Channel> channel_;
  const std::chrono::milliseconds silence_;
  const std::chrono::nanoseconds request_time_;
  std::function<bool()> interrupted_;
  Packer packer_;

  runtime::Lock sending_;  // guards these
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<wire::Request>> batch_;
  bool stuck_ = false;  // a deadline passed while the last frame was sent
  // Frames whose deadline passed, the first of them in part; they go out first.
  struct Unsent {
    std::vector<std::byte> head, payload;
  };
  std::deque<Unsent> unsent_;
  std::atomic<uint64_t> issued_{0};  // ids given so far

  runtime::Lock state_;  // guards these; taken after sending_
  Condition changed_;
  std::unordered_map<uint64_t, Reply*> waiting_;
  std::optional<Error> failed_;  // for good
  bool receiving_ = false;       // some thread does
  const Reply* filling_ = nullptr;
  Clock::time_point heard_ = Clock::now();

  Inbound inbound_;
  uint64_t replies_ = 0;  // sequence of the last one
  std::atomic<int64_t> waits_{0}, bytes_sent_{0}, bytes_received_{0};
};

}  // namespace tapml::rpc
