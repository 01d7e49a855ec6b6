// Devices of other machines as the commands use them: a target with a place.
#pragma once

#include <memory>
#include <string>

#include "rpc/session/remote_session.h"
#include "target/target.h"

namespace CLI {
class App;
}

namespace tapml::cli {

// --token-file of a command that talks to a server.
struct RemoteOptions {
  std::string token_file;
  void add_to(CLI::App& command);
};

// The text of the file, else of TAPML_RPC_TOKEN in the environment, else nothing. UserError for a
// file that cannot be read or has no token of one line.
std::string read_token(const RemoteOptions& options);

// The device at `target.place`. UserError for a malformed place and a wrong token; PlatformError
// where nobody answers.
std::unique_ptr<rpc::RemoteSession> open_remote_session(const target::Target& target,
                                                        const RemoteOptions& options);

}  // namespace tapml::cli
