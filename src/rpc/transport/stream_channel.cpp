#include "rpc/transport/stream_channel.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

namespace tapml::rpc {

namespace {

constexpr size_t kStreamBufferBytes = 64 << 10;

template <class Integer>
void store_size(std::byte* to, Integer value) {
  for (size_t i = 0; i < sizeof value; ++i) to[i] = static_cast<std::byte>(value >> (8 * i));
}

template <class Integer>
Integer load_size(const std::byte* from) {
  Integer value = 0;
  for (size_t i = 0; i < sizeof value; ++i) {
    value |= static_cast<Integer>(static_cast<Integer>(from[i]) << (8 * i));
  }
  return value;
}

}  // namespace

StreamChannel::StreamChannel(std::unique_ptr<ByteStream> stream, const ChannelLimits& limits,
                             std::atomic<bool>* inside_frame)
    : stream_(std::move(stream)),
      limits_(limits),
      inside_frame_(inside_frame),
      buffer_(kStreamBufferBytes) {}

StreamChannel::~StreamChannel() { stream_->close(); }

Result<size_t> StreamChannel::read_some(std::span<std::byte> to,
                                        runtime::Deadline deadline) noexcept {
  TAPML_ASSIGN(const size_t count, stream_->read_some(to, deadline));
  if (count > 0) return count;
  const bool between = begin_ == end_ && !prefix_known_ && payload_left_ == 0;
  return fail(stream_->lost(between ? "was closed by the other side"
                                    : "was closed by the other side within a frame"));
}

Status StreamChannel::send(std::span<const std::byte> head, std::span<const std::byte> payload,
                           runtime::Deadline deadline) noexcept {
  if (head.size() > limits_.head_bytes || payload.size() > limits_.payload_bytes) {
    return fail(platform_error(PlatformFault::kProtocol,
                               "a frame of " + std::to_string(head.size()) + " and " +
                                   std::to_string(payload.size()) + " bytes is too large to send",
                               stream_->peer()));
  }
  if (stream_->closed()) return fail(stream_->lost("was closed"));
  const uint64_t bytes = kPrefixBytes + head.size() + payload.size();
  if (sending_ == 0) {
    store_size(prefix_.data(), static_cast<uint32_t>(head.size()));
    store_size(prefix_.data() + 4, static_cast<uint64_t>(payload.size()));
    sent_ = 0;
  } else if (sending_ != bytes) {
    return fail(internal_error("a frame was sent while another one is half sent", stream_->peer()));
  }
  sending_ = bytes;
  if (inside_frame_) inside_frame_->store(true);
  while (sent_ < bytes) {
    std::span<const std::byte> parts[3];
    size_t count = 0;
    uint64_t skip = sent_;
    for (std::span<const std::byte> part : {std::span<const std::byte>(prefix_), head, payload}) {
      if (skip >= part.size()) {
        skip -= part.size();
        continue;
      }
      parts[count++] = part.subspan(skip);
      skip = 0;
    }
    TAPML_ASSIGN(const size_t written,
                 stream_->write_some(std::span(parts).first(count), deadline));
    sent_ += written;
  }
  sending_ = 0;
  if (inside_frame_) inside_frame_->store(false);
  return {};
}

Status StreamChannel::fill(runtime::Deadline deadline) noexcept {
  if (begin_ == end_) begin_ = end_ = 0;
  if (end_ == buffer_.size()) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  TAPML_ASSIGN(const size_t count, read_some(std::span(buffer_).subspan(end_), deadline));
  end_ += count;
  return {};
}

size_t StreamChannel::take_buffered(std::span<std::byte> to) noexcept {
  const size_t count = std::min(to.size(), end_ - begin_);
  if (count > 0) std::memcpy(to.data(), buffer_.data() + begin_, count);
  begin_ += count;
  return count;
}

Status StreamChannel::receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                              runtime::Deadline deadline) noexcept {
  if (payload_left_ > 0) {
    return fail(internal_error("the payload of the last frame was not taken", stream_->peer()));
  }
  if (!prefix_known_) {
    while (end_ - begin_ < kPrefixBytes) TAPML_TRY(fill(deadline));
    const auto head_bytes = load_size<uint32_t>(buffer_.data() + begin_);
    payload_bytes_ = load_size<uint64_t>(buffer_.data() + begin_ + 4);
    if (head_bytes == 0 || head_bytes > limits_.head_bytes ||
        payload_bytes_ > limits_.payload_bytes) {
      Error error = platform_error(PlatformFault::kProtocol,
                                   "the sizes of a frame are beyond the limits", stream_->peer());
      error.expected = "a head of 1 to " + std::to_string(limits_.head_bytes) +
                       " bytes, a payload of at most " + std::to_string(limits_.payload_bytes);
      error.found = std::to_string(head_bytes) + " and " + std::to_string(payload_bytes_) +
                    " bytes; is the other side tapml?";
      return fail(std::move(error));
    }
    begin_ += kPrefixBytes;
    prefix_known_ = true;
    head_.resize(head_bytes);
    head_filled_ = 0;
  }
  while (head_filled_ < head_.size()) {
    const std::span<std::byte> rest = std::span(head_).subspan(head_filled_);
    if (const size_t count = take_buffered(rest)) {
      head_filled_ += count;
    } else if (rest.size() >= buffer_.size()) {
      TAPML_ASSIGN(const size_t came, read_some(rest, deadline));
      head_filled_ += came;
    } else {
      TAPML_TRY(fill(deadline));
    }
  }
  prefix_known_ = false;
  head.swap(head_);
  payload_bytes = payload_left_ = payload_bytes_;
  taken_ = 0;
  return {};
}

Status StreamChannel::receive_payload(std::span<std::byte> to,
                                      runtime::Deadline deadline) noexcept {
  if (taken_ > to.size() || to.size() - taken_ > payload_left_) {
    return fail(
        internal_error("the frame's payload has no " + std::to_string(to.size()) + " bytes more",
                       stream_->peer()));
  }
  while (taken_ < to.size()) {
    const std::span<std::byte> rest = to.subspan(taken_);
    size_t count = take_buffered(rest);
    if (count == 0 && rest.size() >= buffer_.size()) {
      TAPML_ASSIGN(count, read_some(rest, deadline));
    } else if (count == 0) {
      TAPML_TRY(fill(deadline));
    }
    taken_ += count;
    payload_left_ -= count;
  }
  taken_ = 0;
  return {};
}

std::unique_ptr<Channel> make_stream_channel(FileDescriptor socket, std::string peer,
                                             const ChannelLimits& limits) {
  return std::make_unique<StreamChannel>(std::move(socket), FileDescriptor(), std::move(peer),
                                         limits);
}

void send_last_frame(int fd, std::span<const std::byte> head, runtime::Deadline deadline) noexcept {
  std::vector<std::byte> bytes(StreamChannel::kPrefixBytes + head.size());
  store_size(bytes.data(), static_cast<uint32_t>(head.size()));
  std::ranges::copy(head, bytes.begin() + StreamChannel::kPrefixBytes);
  std::span<const std::byte> rest = bytes;
  while (!rest.empty()) {
    ssize_t count = ::send(fd, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count < 0 && errno == ENOTSOCK) {
      WithoutBrokenPipe guard;
      if (wait_ready(fd, true, -1, deadline) != Ready::kYes) return;
      count = ::write(fd, rest.data(), std::min(rest.size(), size_t{PIPE_BUF}));
    }
    if (count >= 0) {
      rest = rest.subspan(static_cast<size_t>(count));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (wait_ready(fd, true, -1, deadline) != Ready::kYes) return;
    } else if (errno != EINTR) {
      return;
    }
  }
}

}  // namespace tapml::rpc
