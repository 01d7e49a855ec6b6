// A server that dials out to a tracker instead of listening: for devices behind a firewall.
#pragma once

#include <atomic>

#include "rpc/transport/connect.h"
#include "rpc/transport/server.h"

namespace tapml::rpc {

struct TrackedDevice {
  Endpoint tracker;  // with an address
  std::string token;
  TlsTrust trust;
  std::function<void()> registered;  // called after each registration; may be empty
};

// Registers at the tracker, serves one session when a client leases the device, and registers
// again, until `stop` is set. If the tracker is gone, it tries again, at first at once and at last
// every 30 seconds. UserError if the tracker refuses the token or the key. Must be called in a
// process without other threads, before it opens a device.
Status serve_tracked(const TrackedDevice& device, const ListenOptions& options,
                     const std::atomic<bool>& stop) noexcept;

}  // namespace tapml::rpc
