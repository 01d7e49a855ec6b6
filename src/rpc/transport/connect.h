// From a target's place to a channel: "host:port" and "tcp:host:port", "unix:/path",
// "pipe:command with arguments".
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "rpc/session/channel.h"

namespace tapml::rpc {

struct Place {
  enum class Kind : uint8_t { kTcp, kUnix, kPipe } kind = Kind::kTcp;
  std::string host;     // kTcp; an IPv6 address without its brackets
  uint16_t port = 0;    // kTcp; 0: any (listening only)
  std::string path;     // kUnix
  std::string command;  // kPipe: split at blanks, no shell
  std::string text() const;
};

// UserError for anything else.
Result<Place> parse_place(std::string_view text);

// PlatformError: kAbsent (nothing listens, no such host), kTimeout. A pipe's command is started; it
// speaks the protocol on its standard input and output, and is ended with the channel.
Result<std::unique_ptr<Channel>> connect(const Place& place,
                                         runtime::Deadline deadline = {}) noexcept;

}  // namespace tapml::rpc
