// Devices of other processes and machines: a target with a place (docs/runtime.md).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/host/interrupt.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/connect.h"
#include "target/target.h"

namespace tapml::app {

// How a command talks to a server.
struct RemoteOptions {
  std::string token_file;      // app/tokens.h; empty: TAPML_RPC_TOKEN
  std::string tls_ca;          // root certificates (PEM); empty: TAPML_RPC_CA, else the system's
  bool insecure = false;       // a token may go beyond loopback without encryption
  double request_seconds = 0;  // longest request; 0: as long as the server shows signs of life
  WorkWatcher watcher;         // told how far uploads are, here too; may be empty
  // Ends every wait for the server: Ctrl-C.
  std::function<bool()> interrupted = tapml::interrupted;
};

// When a handshake that begins now, with the connection before it, is given up: after
// `request_seconds`, without it after 10 seconds.
rpc::Clock::time_point handshake_end(const RemoteOptions& options);

// A connection to `place`. Who is trusted comes from --tls-ca, else from the file that TAPML_RPC_CA
// names, else from the system. `secret`: a token will be sent, so that plain TCP beyond loopback is
// refused unless `options` allow it.
std::unique_ptr<rpc::Channel> open_channel(const rpc::Endpoint& endpoint, const RemoteOptions& options,
                                           bool secret, rpc::Clock::time_point until);

// What is left of a handshake that ends at `until`: at least a moment.
std::chrono::milliseconds handshake_left(rpc::Clock::time_point until);

// The device at `target.endpoint`. UserError for a malformed place and a wrong token; PlatformError
// where nobody answers.
std::unique_ptr<rpc::RemoteSession> open_remote_session(const target::Target& target,
                                                        const RemoteOptions& options);

// The same over a channel to a program that this one has started: no token is sent.
std::unique_ptr<rpc::RemoteSession> open_remote_session(std::unique_ptr<rpc::Channel> channel,
                                                        const target::Target& target,
                                                        const RemoteOptions& options);

}  // namespace tapml::app
