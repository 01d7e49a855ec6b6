// From a target's place to a channel: "host:port" and "tcp:host:port", "tls:host:port",
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
  std::string host;     // kTcp; an IPv6 address without its brackets
  uint16_t port = 0;    // kTcp; 0: any (listening only)
  bool tls = false;     // kTcp: encrypted, the server shows a certificate for the host
  std::string path;     // kUnix
  std::string command;  // kPipe: split at blanks, no shell
  std::string text() const;
};

// UserError for anything else.
Result<Endpoint> parse_endpoint(std::string_view text);

// Whom a client believes that it is the host of an encrypted place.
struct TlsTrust {
  std::string ca_file;  // PEM, root certificates; empty: the system's
  bool secret = false;  // what will be sent is secret: no plain TCP beyond loopback
};

// Asked by a thread that waits; true ends the wait with kCancelled. Empty: nothing does.
using Interrupted = std::function<bool()>;

// PlatformError: kAbsent (nothing listens, no such host), kTimeout; for TLS also kProtocol (the
// other side speaks none), and UserError for a certificate that does not do and for an address
// that a secret may not go to. A pipe's command is
// started; it speaks the protocol on its standard input and output, and is ended with the channel.
// A TLS handshake without a deadline has 10 seconds.
Result<std::unique_ptr<Channel>> connect(const Endpoint& endpoint, runtime::Deadline deadline = {},
                                         const TlsTrust& trust = {},
                                         const Interrupted& interrupted = {}) noexcept;

}  // namespace tapml::rpc
