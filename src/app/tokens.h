// The tokens that a user has for servers (docs/runtime.md, "Who may connect").
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "rpc/transport/connect.h"

namespace tapml::app {

// Either one token for whoever is asked, or tokens that are bound to endpoints.
class Tokens {
 public:
  // Of a file: one line with a token, or lines "ENDPOINT TOKEN", with empty lines and comments
  // (#) between them. `name` is for messages. UserError for anything else.
  static Tokens parse(std::string_view text, const std::string& name);
  // Of the file; without one, of TAPML_RPC_TOKEN in the environment, else none.
  static Tokens read(const std::string& file);

  // What to show at `endpoint`; empty: nothing. UserError where tokens are bound and none is to it:
  // it names the endpoints that have one.
  std::string of(const rpc::Endpoint& endpoint) const;
  // What a server asks for; empty: nothing. UserError for tokens that are bound.
  const std::string& own() const;

 private:
  struct Bound {
    rpc::Endpoint endpoint;
    std::string token;
  };

  std::string name_;  // of the file
  std::string single_;
  std::vector<Bound> bound_;
};

}  // namespace tapml::app
