// Frames over the byte stream that the host reads and writes.
#pragma once

#include "rpc/session/channel.h"

namespace tapml::worker {

// Deadlines are ignored: reading and writing block, and the session serves only this client.
class HostChannel final : public rpc::Channel {
 public:
  HostChannel();
  Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
              runtime::Deadline deadline) noexcept override;
  Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                 runtime::Deadline deadline) noexcept override;
  Status receive_payload(std::span<std::byte> to, runtime::Deadline deadline) noexcept override;
  void close() noexcept override { closed_ = true; }

 private:
  // Fills all of `to`; large reads bypass the buffer.
  Status take(std::span<std::byte> to) noexcept;
  Status write(std::span<const std::byte> bytes) noexcept;

  std::vector<std::byte> buffer_;  // bytes from begin_ to end_ are unread
  size_t begin_ = 0, end_ = 0;
  uint64_t payload_left_ = 0;
  std::vector<std::byte> sending_;
  bool closed_ = false;
};

}  // namespace tapml::worker
