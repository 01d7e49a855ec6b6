// Devices of other processes and machines: a target with a place (docs/runtime.md).
#pragma once

#include <memory>
#include <string>

#include "rpc/session/remote_session.h"
#include "target/target.h"

namespace tapml::app {

struct RemoteOptions {
  std::string token_file;  // of the server; empty: TAPML_RPC_TOKEN
};

// The text of the file, else of TAPML_RPC_TOKEN in the environment, else nothing. UserError for a
// file that cannot be read or has no token of one line.
std::string read_token(const RemoteOptions& options);

// The device at `target.place`. UserError for a malformed place and a wrong token; PlatformError
// where nobody answers.
std::unique_ptr<rpc::RemoteSession> open_remote_session(const target::Target& target,
                                                        const RemoteOptions& options);

}  // namespace tapml::app
