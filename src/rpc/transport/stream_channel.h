// Frames over a byte stream: a socket, or two pipes.
#pragma once

#include <array>
#include <atomic>

#include "rpc/session/channel.h"
#include "rpc/transport/descriptor.h"

struct iovec;

namespace tapml::rpc {

struct ChannelLimits {
  uint64_t head_bytes = uint64_t{4} << 20;
  uint64_t payload_bytes = uint64_t{64} << 20;
};

class StreamChannel : public Channel {
 public:
  // Bytes in front of head and payload: their sizes as u32 and u64, little-endian.
  static constexpr size_t kPrefixBytes = 12;

  // `in` and `out` are two files; without `out`, `in` is a socket for both directions. `peer` names
  // the other side in messages. `inside_frame`, where given, is set while a frame is sent in part.
  StreamChannel(FileDescriptor in, FileDescriptor out, std::string peer,
                const ChannelLimits& limits = {}, std::atomic<bool>* inside_frame = nullptr);
  ~StreamChannel() override;
  StreamChannel(const StreamChannel&) = delete;

  Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
              runtime::Deadline deadline) noexcept override;
  Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                 runtime::Deadline deadline) noexcept override;
  Status receive_payload(std::span<std::byte> to, runtime::Deadline deadline) noexcept override;
  void close() noexcept override;

 private:
  // Bytes that came, at least one.
  Result<size_t> read_some(std::span<std::byte> to, runtime::Deadline deadline) noexcept;
  // Bytes that went out; what `parts` hold is not more than one call takes.
  Result<size_t> write_some(iovec* parts, int count, runtime::Deadline deadline) noexcept;
  // More into the buffer, which has room.
  Status fill(runtime::Deadline deadline) noexcept;
  size_t take_buffered(std::span<std::byte> to) noexcept;
  Status wait(int fd, bool writing, runtime::Deadline deadline) const noexcept;
  Error lost(const std::string& why) const;

  FileDescriptor in_, out_;  // out_ is not valid where in_ is a socket for both
  bool in_is_socket_ = false, out_is_socket_ = false;
  PipePair wake_;  // closing the writing end wakes both directions; only for pipes
  std::string peer_;
  ChannelLimits limits_;
  std::atomic<bool>* inside_frame_;
  std::atomic<bool> closed_ = false;

  // Of the frame that is being sent.
  std::array<std::byte, kPrefixBytes> prefix_ = {};
  uint64_t sent_ = 0, sending_ = 0;  // bytes of the frame; sending_ is 0 between frames

  // Of the frame that is being received.
  std::vector<std::byte> buffer_;  // bytes from begin_ to end_ are not taken yet
  size_t begin_ = 0, end_ = 0;
  bool prefix_known_ = false;
  std::vector<std::byte> head_;
  size_t head_filled_ = 0;
  uint64_t payload_bytes_ = 0, payload_left_ = 0;
  size_t taken_ = 0;  // of a receive_payload that timed out
};

// Over one end of a connected socket.
std::unique_ptr<Channel> make_stream_channel(FileDescriptor socket, std::string peer,
                                             const ChannelLimits& limits = {});

// A frame without payload to whoever still reads; nothing where nobody does. The connection stays
// open.
void send_last_frame(int fd, std::span<const std::byte> head, runtime::Deadline deadline) noexcept;

}  // namespace tapml::rpc
