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
  std::string target;  // of the other side, without a place: "opencl:device=0"
  std::string token;   // empty: none
  std::chrono::milliseconds handshake{10'000};
  // A wait without a deadline of its own fails (kLost) when nothing, no heartbeat either, came for
  // so long.
  std::chrono::milliseconds silence{15'000};
  // The deadline of each request that is given none, and of each part of an upload, counts from its
  // begin; 0: none.
  std::chrono::nanoseconds request{0};
  // As of Session::set_interrupt(), from the handshake on.
  std::function<bool()> interrupted;
  // For large payloads, where the other side has the same; null: none.
  std::shared_ptr<Compressor> compressor;
  Compression compression = Compression::kMeasured;
};

// Requests that make no sense (unknown handle, range outside its buffer) are refused at once, as by
// a LocalSession. Work only goes out: what fails on the other side surfaces at the next wait.
// Allocations of kLargeAllocation and more, modules and calls of functions wait for their reply.
// What is given up, because a deadline passed or somebody interrupted, is released there once the
// other side is done with it, and its reply is dropped.
class RemoteSession : public runtime::Session {
 public:
  static constexpr int64_t kLargeAllocation = int64_t{64} << 20;  // bytes

  // Negotiates version and capabilities and opens the device. kProtocol: no common version;
  // UserError: the token is wrong; what opening the device there failed with.
  static Result<std::unique_ptr<RemoteSession>> connect(std::unique_ptr<Channel> channel,
                                                        const ConnectOptions& options) noexcept;

  // open_vm() sends the executable and loads it into a virtual machine beside the device, so
  // that a call is one request and one reply.

  // Since connect(), all of them together.
  struct Traffic {
    int64_t requests = 0, waits = 0, bytes_sent = 0, bytes_received = 0;
    int64_t bytes_found = 0;  // of contents that were there already
  };
  virtual Traffic traffic() const noexcept = 0;
};

// What the server's ServerOptions::describe said, for the right token; opens no device.
Result<std::string> query_status(Channel& channel, const ConnectOptions& options) noexcept;

}  // namespace tapml::rpc
