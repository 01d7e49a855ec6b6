#include "worker/host_channel.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "rpc/session/server_session.h"
#include "worker/host.h"

namespace tapml::worker {

namespace {

constexpr size_t kPrefixBytes = 12;  // sizes of head (u32) and payload (u64), little-endian
constexpr size_t kBufferBytes = 64 << 10;
// Payloads up to this size share a write with their head.
constexpr size_t kSmallBytes = 16 << 10;

Error lost(const char* how) {
  return platform_error(PlatformFault::kLost, std::string("the connection ") + how, "pipe");
}

}  // namespace

HostChannel::HostChannel() : buffer_(kBufferBytes) {}

Status HostChannel::write(std::span<const std::byte> bytes) noexcept {
  if (closed_) return fail(lost("was closed"));
  if (host::tapml_host_write(bytes.data(), static_cast<uint32_t>(bytes.size())) < 0) {
    closed_ = true;
    return fail(lost("no longer accepts data"));
  }
  return {};
}

Status HostChannel::send(std::span<const std::byte> head, std::span<const std::byte> payload,
                         runtime::Deadline) noexcept {
  const auto head_bytes = static_cast<uint32_t>(head.size());
  const uint64_t payload_bytes = payload.size();
  sending_.resize(kPrefixBytes);
  std::memcpy(sending_.data(), &head_bytes, sizeof head_bytes);
  std::memcpy(sending_.data() + 4, &payload_bytes, sizeof payload_bytes);
  sending_.insert(sending_.end(), head.begin(), head.end());
  const bool small = payload.size() <= kSmallBytes;
  if (small) sending_.insert(sending_.end(), payload.begin(), payload.end());
  TAPML_TRY(write(sending_));
  return small ? Status{} : write(payload);
}

Status HostChannel::take(std::span<std::byte> to) noexcept {
  while (!to.empty()) {
    if (closed_) return fail(lost("was closed"));
    if (const size_t count = std::min(to.size(), end_ - begin_); count > 0) {
      std::memcpy(to.data(), buffer_.data() + begin_, count);
      begin_ += count;
      to = to.subspan(count);
      continue;
    }
    const bool direct = to.size() >= buffer_.size();
    const std::span<std::byte> into = direct ? to : std::span(buffer_);
    const int32_t count = host::tapml_host_read(
        into.data(), static_cast<uint32_t>(std::min<size_t>(into.size(), 1 << 30)));
    if (count <= 0) {
      closed_ = true;
      return fail(lost(count == 0 ? "was closed by the client" : "failed"));
    }
    if (direct) {
      to = to.subspan(static_cast<size_t>(count));
    } else {
      begin_ = 0;
      end_ = static_cast<size_t>(count);
    }
  }
  return {};
}

Status HostChannel::receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                            runtime::Deadline) noexcept {
  if (payload_left_ > 0) {
    return fail(internal_error("the payload of the last frame was not taken"));
  }
  std::array<std::byte, kPrefixBytes> prefix;
  TAPML_TRY(take(prefix));
  uint32_t head_bytes = 0;
  std::memcpy(&head_bytes, prefix.data(), sizeof head_bytes);
  std::memcpy(&payload_bytes, prefix.data() + 4, sizeof payload_bytes);
  const rpc::ServerLimits limits;
  if (head_bytes == 0 || head_bytes > limits.head_bytes || payload_bytes > limits.payload_bytes) {
    Error error = platform_error(PlatformFault::kProtocol,
                                 "the sizes of a frame are beyond the limits", "pipe");
    error.expected = "a head of 1 to " + std::to_string(limits.head_bytes) +
                     " bytes, a payload of at most " + std::to_string(limits.payload_bytes);
    error.found = std::to_string(head_bytes) + " and " + std::to_string(payload_bytes);
    return fail(std::move(error));
  }
  head.resize(head_bytes);
  payload_left_ = payload_bytes;
  return take(head);
}

Status HostChannel::receive_payload(std::span<std::byte> to, runtime::Deadline) noexcept {
  if (to.size() > payload_left_) {
    return fail(
        internal_error("the frame's payload has no " + std::to_string(to.size()) + " more bytes"));
  }
  TAPML_TRY(take(to));
  payload_left_ -= to.size();
  return {};
}

}  // namespace tapml::worker
