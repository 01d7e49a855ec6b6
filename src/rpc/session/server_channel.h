// A server's session as its services see it: the request that is being served, its payload, and the
// replies.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rpc/session/copy_budget.h"
#include "rpc/session/server_link.h"
#include "rpc/session/server_session.h"
#include "rpc/session/wire.h"

namespace tapml::rpc {

// There are three kinds of failure. One that breaks the protocol or the channel ends the session.
// One in a request that the client waits for is its reply. In other requests, the first one is kept
// for the next wait.
class ServerChannel {
 public:
  ServerChannel(ServerLink& link, const ServerOptions& options)
      : link_(link), options_(options), packer_(options.compressor, options.compression) {}

  ServerLink& link() { return link_; }
  const ServerLimits& limits() const { return options_.limits; }

  // Capabilities that the client has too.
  bool has(uint64_t capability) const { return (capabilities_ & capability) != 0; }
  uint64_t capabilities() const { return capabilities_; }
  // Sets them to those of `ours`, and packing if this side can, that the client has.
  void agree(uint64_t ours, uint64_t clients);

  // Receives a frame. Its payload is taken by the requests.
  Status receive(Clock::time_point until) noexcept;
  std::span<const std::byte> head() const { return head_; }
  uint64_t payload() const { return payload_; }  // bytes of it that are to be received
  // What may be copied out of the head; overdrawing it ends the session.
  CopyBudget& copies() { return copies_; }
  // The frame while others are received: a request of it is not done.
  struct Frame {
    std::vector<std::byte> head;
    CopyBudget copies;
  };
  Frame put_aside() { return {std::move(head_), copies_}; }
  void take_up(Frame frame) {
    head_ = std::move(frame.head);
    copies_ = frame.copies;
  }

  // When the client stops waiting for the request; `timeout`: nanoseconds, negative: never.
  void set_timeout(int64_t timeout) noexcept { deadline_ = deadline_of(timeout); }
  void clear_deadline() noexcept { deadline_.reset(); }
  // Reads and synchronizations have their own timeout.
  void shorten_deadline(int64_t timeout) noexcept;
  const runtime::Deadline& deadline() const { return deadline_; }
  // Ok while the client waits for the current request.
  Status awaited() const noexcept;

  // Receive bytes of the payload. False: the channel broke.
  bool take(std::span<std::byte> to) noexcept;
  bool skip_payload() noexcept;
  // Unpacks the whole payload into `to`. An error is the request's; the payload is consumed.
  Status take_packed(std::span<std::byte> to) noexcept;
  // Whether the payload may unpack to `unpacked` bytes, at most `room`.
  Status check_packed(uint64_t unpacked, uint64_t room) const noexcept;
  // Memory for so many bytes of a payload, until the next call.
  std::span<std::byte> staging(uint64_t bytes);

  // Replies are built here.
  flatbuffers::FlatBufferBuilder& builder() { return builder_; }
  // False: the channel broke.
  template <class Answer>
  bool reply(uint64_t request, flatbuffers::Offset<Answer> answer,
             std::span<const std::byte> payload = {}) noexcept {
    const bool sent = send(finish_reply(builder_, ++replies_, request, answer), payload);
    builder_.Clear();
    return sent;
  }
  bool reply(uint64_t request, const Status& status) noexcept;
  bool reply_found(uint64_t request, const Result<bool>& found) noexcept;
  // A reply with bytes, packed if that pays: `answer(size)` makes it for bytes that unpack to
  // `size`, 0 for others.
  template <class MakeAnswer>
  bool reply_bytes(uint64_t request, std::span<const std::byte> bytes,
                   MakeAnswer&& answer) noexcept {
    const std::span<const std::byte> packed = packer_.pack(bytes, packed_);
    const auto sends = packed.empty() ? bytes : packed;
    const Clock::time_point start = Clock::now();
    if (!reply(request, answer(packed.empty() ? 0 : bytes.size()), sends)) return false;
    packer_.sent(sends.size(), Clock::now() - start);
    return true;
  }

  // The error that broke the channel or the protocol.
  const std::optional<Error>& broken() const { return broken_; }
  void break_with(Error error) {
    if (!broken_) broken_ = std::move(error);
  }
  // Reports the error to the client, if it still listens; returns it.
  Status end(Error error) noexcept;
  // Errors of requests that nobody waits for: the first one is kept until it is surfaced.
  void keep(Error error) noexcept {
    if (!kept_) kept_ = std::move(error);
  }
  Status surface() noexcept;

  // While the device works, the link attends to the client.
  void work(bool begins) noexcept;
  // Each request has its own time limit.
  void next_request() const {
    if (options_.activity) options_.activity(true);
  }

  void say(const std::string& line) const;
  void note(const std::string& line) const;  // for failures

 private:
  runtime::Deadline deadline_of(int64_t timeout) const noexcept;
  bool send(std::span<const std::byte> head, std::span<const std::byte> payload = {}) noexcept;
  std::vector<std::string> log_of(const Error& error) const;

  ServerLink& link_;
  const ServerOptions& options_;
  uint64_t capabilities_ = 0;
  Packer packer_;
  std::optional<Error> broken_, kept_;
  bool working_ = false;

  std::vector<std::byte> head_;
  CopyBudget copies_{0};
  uint64_t payload_ = 0;
  runtime::Deadline deadline_;
  uint64_t replies_ = 0;
  flatbuffers::FlatBufferBuilder builder_;
  std::vector<std::byte> staging_, packed_;
};

}  // namespace tapml::rpc
