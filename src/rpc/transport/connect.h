// Opens a channel to a target's endpoint: "host:port" and "tcp:host:port", "tls:host:port",
// "unix:/path", "pipe:command with arguments".
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rpc/session/channel.h"

namespace tapml::rpc {

struct Endpoint {
  enum class Kind : uint8_t { kTcp, kUnix, kPipe } kind = Kind::kTcp;
  std::string host;     // kTcp; an IPv6 address has no brackets
  uint16_t port = 0;    // kTcp; 0: any (listening only)
  bool tls = false;     // kTcp: encrypted, with a certificate for the host
  std::string path;     // kUnix
  std::string command;  // kPipe: split at blanks, without a shell
  std::string text() const;
};

// UserError for any other text.
Result<Endpoint> parse_endpoint(std::string_view text);

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
Result<std::unique_ptr<Channel>> connect(const Endpoint& endpoint, runtime::Deadline deadline = {},
                                         const TlsTrust& trust = {},
                                         const Interrupted& interrupted = {}) noexcept;

}  // namespace tapml::rpc
