// A connection to the other side: ordered, reliable frames in both directions. Transports implement
// it (rpc/transport: TCP, Unix sockets, pipes; a WebSocket or an in-memory pair would fit too).
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "runtime/session.h"

namespace tapml::rpc {

// A frame is a head (one FlatBuffers message of protocol.fbs) and a payload of plain bytes that the
// head describes. On byte streams: head size u32, payload size u64 (little-endian), head, payload.
// Errors are PlatformErrors: kLost (the connection was closed or reset, or ended inside a frame),
// kTimeout (the deadline passed; the same call, repeated with the same spans, resumes), kProtocol
// (sizes beyond the limits). One thread may send while another receives; no more.
class Channel {
 public:
  virtual ~Channel() = default;
  // Blocks while the other side does not read.
  virtual Status send(std::span<const std::byte> head, std::span<const std::byte> payload,
                      runtime::Deadline deadline = {}) noexcept = 0;
  // Receives the head of the next frame and the size of its payload, which must be received in full
  // before the next receive().
  virtual Status receive(std::vector<std::byte>& head, uint64_t& payload_bytes,
                         runtime::Deadline deadline = {}) noexcept = 0;
  // Receives the next `to.size()` bytes of the payload.
  virtual Status receive_payload(std::span<std::byte> to,
                                 runtime::Deadline deadline = {}) noexcept = 0;
  // A descriptor that is readable when a frame arrives, so that others can wait for it too; -1:
  // none is reliable.
  virtual int wake_fd() const noexcept { return -1; }
  // Ends both directions; calls in progress on other threads return kLost. Safe on any thread.
  virtual void close() noexcept = 0;
};

}  // namespace tapml::rpc
