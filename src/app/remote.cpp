#include "app/remote.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "app/tokens.h"
#include "base/log.h"
#include "base/strings.h"
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

rpc::Endpoint tracker_at(const std::string& address) {
  rpc::Endpoint endpoint = unwrap(rpc::parse_endpoint(address));
  if (endpoint.kind != rpc::Endpoint::Kind::kTcp) {
    throw_user("not the address of a tracker", in_quotes(address), "HOST:PORT or tls:HOST:PORT");
  }
  endpoint.kind = rpc::Endpoint::Kind::kTracker;
  return endpoint;
}

rpc::Endpoint find_endpoint(const std::string& text) {
  rpc::Endpoint endpoint = unwrap(rpc::parse_endpoint(text));
  if (endpoint.kind != rpc::Endpoint::Kind::kTracker || !endpoint.host.empty()) return endpoint;
  const char* address = std::getenv("TAPML_TRACKER");
  if (address == nullptr || *address == '\0') {
    throw_user("the endpoint names no tracker", "endpoint " + in_quotes(text),
               "tracker:HOST:PORT/KEY, or the address in TAPML_TRACKER", "tracker/KEY without it");
  }
  std::string key = std::move(endpoint.key);
  endpoint = tracker_at(address);
  endpoint.key = std::move(key);
  return endpoint;
}

std::string token_for(const rpc::Endpoint& endpoint, const RemoteOptions& options) {
  rpc::Endpoint server = endpoint;
  if (server.kind == rpc::Endpoint::Kind::kTracker) server.kind = rpc::Endpoint::Kind::kTcp;
  return Tokens::read(options.token_file).of(server);
}

rpc::TlsTrust trust_of(const RemoteOptions& options, const std::string& token) {
  rpc::TlsTrust trust{options.tls_ca, !token.empty() && !options.insecure};
  if (const char* file = std::getenv("TAPML_RPC_CA"); file && trust.ca_file.empty()) {
    trust.ca_file = file;
  }
  return trust;
}

std::unique_ptr<rpc::Channel> open_channel(const rpc::Endpoint& endpoint,
                                           const RemoteOptions& options, const std::string& token,
                                           rpc::Clock::time_point until) {
  rpc::LeaseRequest lease;
  lease.token = token;
  lease.priority = options.priority;
  lease.wait = std::chrono::seconds(options.wait_seconds);
  lease.waiting = [&endpoint](const rpc::LeasePlace& place) {
    log_warning("waiting for a device with the key " + endpoint.key + ": place " +
                std::to_string(place.place) + ", " + std::to_string(place.devices) +
                (place.devices == 1 ? " device" : " devices"));
  };
  return unwrap(
      rpc::connect(endpoint, until, trust_of(options, token), options.interrupted, lease));
}

std::unique_ptr<rpc::RemoteSession> open_remote_session(const target::Target& target,
                                                        const RemoteOptions& options) {
  const rpc::Endpoint endpoint = find_endpoint(target.endpoint);
  // Errors of the token are reported before connecting.
  std::string token = token_for(endpoint, options);
  auto until = handshake_end(options);
  auto channel = open_channel(endpoint, options, token, until);
  // Waiting for a device is not part of the handshake with it.
  if (endpoint.kind == rpc::Endpoint::Kind::kTracker) until = handshake_end(options);
  return greet(std::move(channel), target, std::move(token), options, until);
}

std::unique_ptr<rpc::RemoteSession> open_remote_session(std::unique_ptr<rpc::Channel> channel,
                                                        const target::Target& target,
                                                        const RemoteOptions& options) {
  return greet(std::move(channel), target, "", options, handshake_end(options));
}

}  // namespace tapml::app
