// Frames over a byte stream: a socket, two pipes, TLS.
#pragma once

#include <array>
#include <atomic>

#include "rpc/session/channel.h"
#include "rpc/transport/byte_stream.h"

namespace tapml::rpc {

struct ChannelLimits {
  uint64_t head_bytes = uint64_t{4} << 20;
  uint64_t payload_bytes = uint64_t{64} << 20;
};

class StreamChannel : public Channel {
 public:
  // Bytes before head and payload: their sizes as u32 and u64, little-endian.
  static constexpr size_t kPrefixBytes = 12;

  // `inside_frame`, if given, is set while a frame is partly sent.
  explicit StreamChannel(std::unique_ptr<ByteStream> stream, const ChannelLimits& limits = {},
                         std::atomic<bool>* inside_frame = nullptr);
  // Over descriptors, as in make_file_stream().
  StreamChannel(FileDescriptor in, FileDescriptor out, std::string peer,
                const ChannelLimits& limits = {}, std::atomic<bool>* inside_frame = nullptr)
      : StreamChannel(make_file_stream(std::move(in), std::move(out), std::move(peer)), limits,
                      inside_frame) {}
  ~StreamChannel() override;
  StreamChannel(const StreamChannel&) = delete;

  Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
              runtime::Deadline deadline) noexcept override;
  Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                 runtime::Deadline deadline) noexcept override;
  Status receive_payload(std::span<std::byte> to, runtime::Deadline deadline) noexcept override;
  int wake_fd() const noexcept override { return stream_->wake_fd(); }
  void close() noexcept override { stream_->close(); }

 private:
  // Returns how many bytes were read, at least one.
  Result<size_t> read_some(std::span<std::byte> to, runtime::Deadline deadline) noexcept;
  // Reads more into the buffer, which must have room.
  Status fill(runtime::Deadline deadline) noexcept;
  size_t take_buffered(std::span<std::byte> to) noexcept;

  std::unique_ptr<ByteStream> stream_;
  ChannelLimits limits_;
  std::atomic<bool>* inside_frame_;

  // The frame that is being sent.
  std::array<std::byte, kPrefixBytes> prefix_ = {};
  uint64_t sent_ = 0, sending_ = 0;  // bytes of the frame; sending_ is 0 between frames

  // The frame that is being received.
  std::vector<std::byte> buffer_;  // bytes from begin_ to end_ are not consumed yet
  size_t begin_ = 0, end_ = 0;
  bool prefix_known_ = false;
  std::vector<std::byte> head_;
  size_t head_filled_ = 0;
  uint64_t payload_bytes_ = 0, payload_left_ = 0;
  size_t taken_ = 0;  // of a receive_payload that timed out
};

// A channel over one end of a connected socket.
std::unique_ptr<Channel> make_stream_channel(FileDescriptor socket, std::string peer,
                                             const ChannelLimits& limits = {});

// Sends a frame without payload to a peer that still reads; does nothing otherwise. The connection
// stays open.
void send_last_frame(int fd, std::span<const std::byte> head, runtime::Deadline deadline) noexcept;

}  // namespace tapml::rpc
