// Devices of other processes and computers: targets with an endpoint (docs/runtime.md).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/host/interrupt.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/connect.h"
#include "target/target.h"

namespace tapml::app {

// Options of connections to a server.
struct RemoteOptions {
  std::string token_file;      // app/tokens.h; empty: TAPML_RPC_TOKEN
  std::string tls_ca;          // root certificates (PEM); empty: TAPML_RPC_CA, else the system's
  bool insecure = false;       // sends a token beyond loopback without encryption
  int64_t wait_seconds = 300;  // for a device of a tracker
  int64_t priority = 0;        // among the clients that wait for one
  double request_seconds = 0;  // limit of a request; 0: as long as the server shows signs of life
  WorkWatcher watcher;         // of uploads, to local devices too; may be empty
  // Ends every wait for the server, on Ctrl-C.
  std::function<bool()> interrupted = tapml::interrupted;
};

// The deadline of a handshake that begins now, connecting included: after `request_seconds`, or 10
// seconds if that is not set.
rpc::Clock::time_point handshake_end(const RemoteOptions& options);

// Parses an endpoint; that of a tracker gets its address from TAPML_TRACKER (HOST:PORT or
// tls:HOST:PORT) if it has none. UserError for anything else, and without an address.
rpc::Endpoint find_endpoint(const std::string& text);

// The endpoint of a tracker's address, such as tls:lab:9190; the key is empty. UserError for
// anything else.
rpc::Endpoint tracker_at(const std::string& address);

// The token for an endpoint; a tracker's is that of its address.
std::string token_for(const rpc::Endpoint& endpoint, const RemoteOptions& options);

// Which certificates to trust: those of --tls-ca, else of the file that TAPML_RPC_CA names, else
// the system's. If a token will be sent, plain TCP beyond loopback is refused unless `options`
// allow it.
rpc::TlsTrust trust_of(const RemoteOptions& options, const std::string& token);

// Connects to `endpoint`; at a tracker, waits for a device.
std::unique_ptr<rpc::Channel> open_channel(const rpc::Endpoint& endpoint,
                                           const RemoteOptions& options, const std::string& token,
                                           rpc::Clock::time_point until);

// The time left for a handshake with deadline `until`, at least a short one.
std::chrono::milliseconds handshake_left(rpc::Clock::time_point until);

// Opens the device at `target.endpoint`. UserError for a malformed endpoint and a wrong token;
// PlatformError if no server answers.
std::unique_ptr<rpc::RemoteSession> open_remote_session(const target::Target& target,
                                                        const RemoteOptions& options);

// The same over a channel to a program that this one has started: no token is sent.
std::unique_ptr<rpc::RemoteSession> open_remote_session(std::unique_ptr<rpc::Channel> channel,
                                                        const target::Target& target,
                                                        const RemoteOptions& options);

}  // namespace tapml::app
