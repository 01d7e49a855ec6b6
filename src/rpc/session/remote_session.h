// A device on the other side of a channel, as a Session (architecture contract 5).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "rpc/session/channel.h"
#include "rpc/session/compression.h"
#include "runtime/virtual_machine.h"

namespace tapml::rpc {

struct ConnectOptions {
  std::string target;  // of the other side, without an endpoint: "opencl:device=0"
  std::string token;   // empty: none
  std::chrono::milliseconds handshake{10'000};
  // A wait without a deadline of its own fails (kLost) when nothing, not even a heartbeat, arrives
  // for this long.
  std::chrono::milliseconds silence{15'000};
  // The deadline of each request without one of its own, and of each part of an upload, from its
  // start; 0: none.
  std::chrono::nanoseconds request{0};
  // As in Session::set_interrupt(), from the handshake on.
  std::function<bool()> interrupted;
  // For large payloads, if the other side has the same method; null: none.
  std::shared_ptr<Compressor> compressor;
  Compression compression = Compression::kMeasured;
};

// Malformed requests (unknown handle, range outside its buffer) are refused at once, as by a
// LocalSession. Work is only sent: a failure on the other side surfaces at the next wait.
// Allocations of kLargeAllocation and more, modules and calls of functions wait for their reply.
// What is given up because of a deadline or an interrupt is released by the other side once it is
// done with it, and its reply is dropped.
class RemoteSession : public runtime::Session {
 public:
  static constexpr int64_t kLargeAllocation = int64_t{64} << 20;  // bytes

  // Negotiates version and capabilities and opens the device. kProtocol: no common version;
  // UserError: wrong token; otherwise the error of opening the remote device.
  static Result<std::unique_ptr<RemoteSession>> connect(std::unique_ptr<Channel> channel,
                                                        const ConnectOptions& options) noexcept;

  // open_vm() sends the executable and loads it into a virtual machine next to the device, so that
  // a call is one request and one reply.

  // Totals since connect().
  struct Traffic {
    int64_t requests = 0, waits = 0, bytes_sent = 0, bytes_received = 0;
    int64_t bytes_found = 0;  // of contents that the server already had
  };
  virtual Traffic traffic() const noexcept = 0;
};

// What the server's ServerOptions::describe returns, for the right token; opens no device.
Result<std::string> query_status(Channel& channel, const ConnectOptions& options) noexcept;

}  // namespace tapml::rpc
