// A way to the other side: ordered, reliable frames in both directions. Transports implement it
// (rpc/transport: TCP, Unix sockets, pipes; a WebSocket or a pair in memory fit too).
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "runtime/session.h"

namespace tapml::rpc {

// A frame is a head (one FlatBuffers message of protocol.fbs) and a payload of plain bytes that the
// head describes. On byte streams: head size u32, payload size u64 (little-endian), head, payload.
// Errors are PlatformErrors: kLost (the way is gone: closed, reset, ended inside of a frame),
// kTimeout (the deadline passed; the same call, made again with the same spans, goes on where it
// was), kProtocol (sizes beyond the limits). One thread may send while another receives; no more.
class Channel {
 public:
  virtual ~Channel() = default;
  // Blocks while the other side does not take it.
  virtual Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
                      runtime::Deadline deadline = {}) noexcept = 0;
  // The head of the next frame and the size of its payload, which must be taken in full before the
  // next receive().
  virtual Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                         runtime::Deadline deadline = {}) noexcept = 0;
  // The next `to.size()` bytes of the payload.
  virtual Status receive_payload(std::span<std::byte> to,
                                 runtime::Deadline deadline = {}) noexcept = 0;
  // A file that is readable when a frame comes, for others than its reader to wait for too; -1:
  // none is that sure to be.
  virtual int wake_fd() const noexcept { return -1; }
  // Ends both directions; calls in progress on other threads return kLost. Any thread.
  virtual void close() noexcept = 0;
};

}  // namespace tapml::rpc
