// The client's end of a channel: requests go out in batches, replies come in for whoever waits.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "rpc/session/compression.h"
#include "rpc/session/condition.h"
#include "rpc/session/remote_session.h"
#include "rpc/session/wire.h"

namespace tapml::rpc {

// Safe from several threads. No thread of its own: of those that wait for a reply one receives, for
// all of them; one whose send the server does not take receives meanwhile.
class ClientLink {
 public:
  ClientLink(std::unique_ptr<Channel> channel, const ConnectOptions& options)
      : channel_(std::move(channel)),
        silence_(options.silence),
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
    std::span<const std::byte> tail() const { return tail_; }
    Reply(const Reply&) = delete;
    Reply& operator=(const Reply&) = delete;
    // Its answer once wait() was ok; null where the answer is another one.
    template <class Answer>
    const Answer* answer() const {
      return message_ ? message_->answer_as<Answer>() : nullptr;
    }
    size_t message_bytes() const { return head_.size(); }

   private:
    friend class ClientLink;
    std::span<std::byte> to_;  // for what is read
    size_t received_ = 0;      // of it
    uint64_t request_ = 0;
    bool done_ = false;
    bool takes_tail_ = false;
    std::vector<std::byte> tail_;
    std::optional<Error> error_;
    std::vector<std::byte> head_;
    const wire::Reply* message_ = nullptr;  // in head_
  };

  // Adds the request that make(builder) builds; null where it cannot. Without a reply and a payload
  // it may stay behind until something else goes out; a payload is sent before this returns, and
  // takes no deadline. kTimeout: the other side may still get the request, later.
  template <class Make>
  Status post(Make&& make, Reply* reply = nullptr, std::span<const std::byte> payload = {},
              runtime::Deadline deadline = {}) noexcept {
    if (!lock_until(sending_, deadline.value_or(Clock::time_point::max()))) {
      return fail(too_late());
    }
    const Unlock unlock{sending_};
    TAPML_TRY(alive());
    const auto body = make(builder_);
    if (body.IsNull()) return fail(internal_error("a request that could not be made"));
    return add(type_of(body), body.Union(), reply, payload, deadline);
  }
  // The request that make(builder, unpacked) builds, with `bytes` behind it: packed where that
  // spares time, and `unpacked` is their size then, else 0.
  template <class Make>
  Status post_bytes(Make&& make, std::span<const std::byte> bytes) noexcept {
    std::vector<std::byte> room;
    const std::span<const std::byte> packed = packer_.pack(bytes, room);
    const uint64_t unpacked = packed.empty() ? 0 : bytes.size();
    return post([&](flatbuffers::FlatBufferBuilder& builder) { return make(builder, unpacked); },
                nullptr, packed.empty() ? bytes : packed);
  }
  // Both sides can unpack.
  void enable_packing() { packer_.enable(); }
  // kTimeout: the reply will be dropped when it comes. `interrupt`, once it is set, asks the server
  // to cancel the request; its reply is still waited for.
  Status wait(Reply& reply, runtime::Deadline deadline = {},
              const std::atomic<bool>* interrupt = nullptr) noexcept;
  template <class Make>
  Status call(Make&& make, Reply& reply, runtime::Deadline deadline = {},
              const std::atomic<bool>* interrupt = nullptr) noexcept {
    TAPML_TRY(post(std::forward<Make>(make), &reply, {}, deadline));
    return wait(reply, deadline, interrupt);
  }

  RemoteSession::Traffic traffic() const noexcept;

 private:
  // The frame that is coming in; belongs to the thread that receives.
  struct Inbound {
    std::vector<std::byte> head;
    uint64_t payload = 0;   // bytes still to come
    uint64_t request = 0;   // that they are for
    bool last = false;      // they complete it
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
  Status add(wire::Body type, flatbuffers::Offset<void> body, Reply* reply,
             std::span<const std::byte> payload, runtime::Deadline deadline) noexcept;
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
  void finish(Reply& reply) noexcept;
  void abandon(Reply& reply) noexcept;

  std::unique_ptr<Channel> channel_;
  const std::chrono::milliseconds silence_;
  Packer packer_;

  runtime::Lock sending_;  // guards these
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<flatbuffers::Offset<wire::Request>> batch_;
  std::vector<std::byte> unsent_;    // head of a frame whose deadline passed; goes out first
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
