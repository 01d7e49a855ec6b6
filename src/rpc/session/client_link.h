// The client's end of a channel: sends requests in batches, and receives replies for its waiters.
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

// The time left until the deadline, for the other side's clock; -1: no deadline.
int64_t nanoseconds_left(const runtime::Deadline& deadline) noexcept;

// Thread-safe. It has no thread of its own: one of the threads that wait for a reply receives for
// all; a thread whose data the server does not read receives meanwhile.
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

  // The reply to one request, owned by the waiting thread.
  class Reply {
   public:
    explicit Reply(std::span<std::byte> to = {}) : to_(to) {}
    // Accepts a payload of any size with the result.
    void expect_tail() { takes_tail_ = true; }
    size_t tail_bytes() const { return tail_bytes_; }
    std::unique_ptr<std::byte[]> take_tail() { return std::move(tail_); }
    // Handles replies before the answer, and their payloads, on the receiving thread; it must not
    // use the link. Its error fails the wait; kProtocol fails the session.
    using Stream = std::function<Status(const wire::Reply&, std::span<const std::byte>)>;
    void expect_stream(Stream stream) { stream_ = std::move(stream); }
    // Called with each heartbeat of the request, on the receiving thread; it must not use the link.
    using Progress = std::function<void(int64_t done, int64_t total)>;
    void expect_progress(Progress progress) { progress_ = std::move(progress); }
    // Prepares for one more request, after the answer to the previous one.
    void expect_another() {
      done_ = false;
      received_ = 0;
      to_ = {};
      tail_bytes_ = 0;
      message_ = nullptr;
    }
    // False if the wait was given up: the other side may still do what was asked.
    bool answered() const { return done_; }
    Reply(const Reply&) = delete;
    Reply& operator=(const Reply&) = delete;
    // The answer, after wait() was ok; null if it is of another type.
    template <class Answer>
    const Answer* answer() const {
      return message_ ? message_->answer_as<Answer>() : nullptr;
    }
    size_t message_bytes() const { return head_.size(); }
    uint64_t request() const { return request_; }  // its id

   private:
    friend class ClientLink;
    std::span<std::byte> to_;  // the reader's buffer
    size_t received_ = 0;      // bytes of it
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

  // Adds the request that make(builder) builds; null if it cannot. Without a reply and a payload it
  // may stay in the batch until something else is sent; a payload is sent before this returns.
  // kTimeout, kCancelled: the other side may still get the request later. Without a deadline,
  // sending is limited by the deadline for all requests.
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
  // The same for make(builder, unpacked), with `bytes` as the payload. If packing saves time, they
  // are packed, and `unpacked` is their size; otherwise it is 0.
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
  // Enables packing; both sides must be able to unpack.
  void enable_packing() { packer_.enable(); }
  // The wait's own deadline, or the one for all requests.
  runtime::Deadline limit(const runtime::Deadline& deadline) const noexcept {
    if (deadline || request_time_.count() == 0) return deadline;
    return Clock::now() + request_time_;
  }
  void set_interrupt(std::function<bool()> interrupted) { interrupted_ = std::move(interrupted); }
  // kTimeout: the reply is dropped when it arrives. If the wait is interrupted, or `interrupt` is
  // set, the server is asked to cancel the request. It has kGrace to answer; after that the wait
  // fails with kCancelled, and the reply is dropped as well.
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
  // Ok if there is time left and no interrupt.
  Status may_begin(const runtime::Deadline& deadline,
                   const std::atomic<bool>* interrupt = nullptr) const noexcept;
  // Gives up the reply. Returns once nothing is being written to its buffer.
  void abandon(Reply& reply) noexcept;

  RemoteSession::Traffic traffic() const noexcept;

 private:
  // The frame being received; belongs to the receiving thread.
  struct Inbound {
    std::vector<std::byte> head;
    uint64_t payload = 0;   // bytes to be received
    uint64_t request = 0;   // that they belong to
    bool last = false;      // they complete it
    bool streamed = false;  // they are for its stream
    uint64_t unpacked = 0;  // size after unpacking; 0: they are not packed
    std::vector<std::byte> packed;
    std::vector<std::byte> scrap;  // payloads that were given up
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
  // Locks sending_, which a thread may hold while the other side does not read. `gives_up`: an
  // interrupt ends the wait.
  Status lock_sending(bool gives_up, const runtime::Deadline& deadline) noexcept;
  // `limited`: the deadline is the one for all requests, and missing it is always an error.
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
  bool stuck_ = false;  // a deadline passed while the last frame was being sent
  // Frames whose deadline passed, the first of them partly sent; they go out first.
  struct Unsent {
    std::vector<std::byte> head, payload;
  };
  std::deque<Unsent> unsent_;
  std::atomic<uint64_t> issued_{0};  // ids assigned so far

  runtime::Lock state_;  // guards these; taken after sending_
  Condition changed_;
  std::unordered_map<uint64_t, Reply*> waiting_;
  std::optional<Error> failed_;  // permanently
  bool receiving_ = false;       // a thread is receiving
  const Reply* filling_ = nullptr;
  Clock::time_point heard_ = Clock::now();

  Inbound inbound_;
  uint64_t replies_ = 0;  // sequence number of the last one
  std::atomic<int64_t> waits_{0}, bytes_sent_{0}, bytes_received_{0};
};

}  // namespace tapml::rpc
