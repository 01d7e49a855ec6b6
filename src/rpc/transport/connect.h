// Opens a channel to a target's endpoint: "host:port" and "tcp:host:port", "tls:host:port",
// "unix:/path", "pipe:command with arguments", "tracker:host:port/KEY" and "tracker/KEY".
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rpc/session/channel.h"
#include "rpc/transport/byte_stream.h"

namespace tapml::rpc {

struct Endpoint {
  enum class Kind : uint8_t { kTcp, kUnix, kPipe, kTracker } kind = Kind::kTcp;
  std::string host;   // kTcp, kTracker; an IPv6 address has no brackets. A tracker's may be empty:
                      // the one that the user has set
  uint16_t port = 0;  // kTcp, kTracker; 0: any (listening only)
  bool tls = false;   // kTcp, kTracker: encrypted, with a certificate for the host
  std::string key;    // kTracker: of the devices to lease one of
  std::string path;   // kUnix
  std::string command;  // kPipe: split at blanks, without a shell
  std::string text() const;
};

// UserError for any other text.
Result<Endpoint> parse_endpoint(std::string_view text);

// A key of devices has 1 to 64 letters, digits, '.', '_' and '-'.
bool is_device_key(std::string_view text);

// Where a client stands while it waits for a device of a tracker.
struct LeasePlace {
  int64_t place = 0;    // 1: the next one
  int64_t devices = 0;  // with the key, all of them leased
};

// What a client asks a tracker for. It waits until a device with the endpoint's key is free.
struct LeaseRequest {
  std::string token;     // that the tracker requires; empty: none
  int64_t priority = 0;  // from -100 to 100; higher ones are served first
  std::chrono::seconds wait{300};
  std::function<void(const LeasePlace&)> waiting;  // called when the place changes; may be empty
};

// Which servers a client trusts at an encrypted endpoint.
struct TlsTrust {
  std::string ca_file;  // PEM root certificates; empty: the system's
  bool secret = false;  // a secret will be sent: no plain TCP beyond loopback
};

// Polled by a waiting thread; true ends the wait with kCancelled. Unset: never.
using Interrupted = std::function<bool()>;

// PlatformError: kAbsent (nothing listens, no such host), kTimeout; for TLS also kProtocol (the
// other side does not speak it), and UserError for an unacceptable certificate and for an address
// that must not receive a secret. The command of a pipe is started, speaks the protocol on its
// standard input and output, and ends with the channel. A TLS handshake without a deadline has 10
// seconds.
// A tracker's endpoint takes a lease, for which the wait is longer than the deadline: kTimeout if
// none is given in that time, kLimit if the tracker is full, UserError for a wrong token.
Result<std::unique_ptr<Channel>> connect(const Endpoint& endpoint, runtime::Deadline deadline = {},
                                         const TlsTrust& trust = {},
                                         const Interrupted& interrupted = {},
                                         const LeaseRequest& lease = {}) noexcept;

// A connection to a tcp, tls or unix endpoint, or to a tracker, without a frame on it.
Result<std::unique_ptr<ByteStream>> open_stream(const Endpoint& endpoint,
                                                runtime::Deadline deadline, const TlsTrust& trust,
                                                const Interrupted& interrupted) noexcept;

}  // namespace tapml::rpc
