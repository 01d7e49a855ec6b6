// The user's tokens for servers (docs/runtime.md, "Who may connect").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rpc/transport/connect.h"

namespace tapml::app {

// Either one token for every server, or tokens that are bound to endpoints.
class Tokens {
 public:
  // Parses a file: one line with a token, or lines "ENDPOINT TOKEN", with empty lines and comments
  // (#). `name` is for messages. UserError for anything else.
  static Tokens parse(std::string_view text, const std::string& name);
  // Reads the file; without one, TAPML_RPC_TOKEN in the environment, else none.
  static Tokens read(const std::string& file);

  // The token to send to `endpoint`; empty: none. UserError if tokens are bound but none to it; the
  // message lists the endpoints that have one.
  std::string of(const rpc::Endpoint& endpoint) const;
  // The token that a server requires; empty: none. UserError for bound tokens.
  const std::string& own() const;

 private:
  struct Bound {
    rpc::Endpoint endpoint;
    std::string token;
  };

  std::string name_;  // of the file, for messages
  std::string single_;
  std::vector<Bound> bound_;
};

}  // namespace tapml::app
