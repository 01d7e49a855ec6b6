#include "app/remote.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "app/tokens.h"
#include "ir/exceptions.h"
#include "rpc/session/host/zstd.h"

namespace tapml::app {

namespace {

std::unique_ptr<rpc::RemoteSession> greet(std::unique_ptr<rpc::Channel> channel,
                                          const target::Target& target, std::string token,
                                          const RemoteOptions& options,
                                          rpc::Clock::time_point until) {
  rpc::ConnectOptions connect;
  connect.handshake = handshake_left(until);
  connect.target = target.text.substr(0, target.text.find('@'));
  connect.token = std::move(token);
  connect.compressor = rpc::make_zstd();
  connect.request = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(options.request_seconds));
  connect.interrupted = options.interrupted;
  auto session = unwrap(rpc::RemoteSession::connect(std::move(channel), connect));
  session->set_watcher(options.watcher);
  return session;
}

}  // namespace

rpc::Clock::time_point handshake_end(const RemoteOptions& options) {
  const auto now = rpc::Clock::now();
  if (options.request_seconds <= 0) return now + rpc::ConnectOptions().handshake;
  return now + std::chrono::ceil<std::chrono::milliseconds>(
                   std::chrono::duration<double>(options.request_seconds));
}

std::chrono::milliseconds handshake_left(rpc::Clock::time_point until) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - rpc::Clock::now());
  return std::max(left, std::chrono::milliseconds(1));
}

std::unique_ptr<rpc::Channel> open_channel(const rpc::Endpoint& endpoint,
                                           const RemoteOptions& options, bool secret,
                                           rpc::Clock::time_point until) {
  rpc::TlsTrust trust{options.tls_ca, secret && !options.insecure};
  if (const char* file = std::getenv("TAPML_RPC_CA"); file && trust.ca_file.empty()) {
    trust.ca_file = file;
  }
  return unwrap(rpc::connect(endpoint, until, trust, options.interrupted));
}

std::unique_ptr<rpc::RemoteSession> open_remote_session(const target::Target& target,
                                                        const RemoteOptions& options) {
  const rpc::Endpoint endpoint = unwrap(rpc::parse_endpoint(target.endpoint));
  // Errors of the token are reported before connecting.
  std::string token = Tokens::read(options.token_file).of(endpoint);
  const auto until = handshake_end(options);
  auto channel = open_channel(endpoint, options, !token.empty(), until);
  return greet(std::move(channel), target, std::move(token), options, until);
}

std::unique_ptr<rpc::RemoteSession> open_remote_session(std::unique_ptr<rpc::Channel> channel,
                                                        const target::Target& target,
                                                        const RemoteOptions& options) {
  return greet(std::move(channel), target, "", options, handshake_end(options));
}

}  // namespace tapml::app
