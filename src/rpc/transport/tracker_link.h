// The other end of a tracker: what clients and devices ask it, as HTTP requests that turn the
// connection into one of plain bytes (docs/protocol.md, "Tracker").
#pragma once

#include <vector>

#include "rpc/transport/byte_stream.h"
#include "rpc/transport/connect.h"

namespace tapml::rpc {

// Waits for a device with the endpoint's key; after that the stream leads to this device. Errors as
// connect().
Status take_lease(ByteStream& stream, const Endpoint& endpoint, const LeaseRequest& lease,
                  const Interrupted& interrupted) noexcept;

// Registers a device; after that the stream leads to the client that leases it. Returns the first
// bytes of the client, if some have come already. UserError for a wrong token, kLimit if the
// tracker is full.
Result<std::vector<std::byte>> register_device(ByteStream& stream, const Endpoint& endpoint,
                                               const std::string& token,
                                               const Interrupted& interrupted) noexcept;

// The tracker's keys, devices, leases and queues, as one JSON text.
Result<std::string> ask_tracker_status(ByteStream& stream, const Endpoint& endpoint,
                                       const std::string& token,
                                       const Interrupted& interrupted) noexcept;

}  // namespace tapml::rpc
