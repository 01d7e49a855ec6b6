#include "app/remote.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "io/host/files.h"
#include "ir/exceptions.h"
#include "rpc/session/host/zstd.h"

namespace tapml::app {

namespace {

constexpr size_t kMostTokenBytes = 4096;

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

std::string read_token(const RemoteOptions& options) {
  if (options.token_file.empty()) {
    const char* token = std::getenv("TAPML_RPC_TOKEN");
    return token ? token : "";
  }
  std::string token = unwrap(read_text_file(options.token_file, kMostTokenBytes));
  while (!token.empty() && (token.back() == '\n' || token.back() == '\r')) token.pop_back();
  if (token.empty() || token.find('\n') != std::string::npos) {
    throw_user("not a file with a token", options.token_file, "one line",
               token.empty() ? "nothing" : "several lines",
               "for example: head -c 32 /dev/urandom | base64 > token; chmod 600 token");
  }
  return token;
}

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

std::unique_ptr<rpc::Channel> open_channel(const rpc::Place& place, const RemoteOptions& options,
                                           rpc::Clock::time_point until) {
  rpc::TlsTrust trust{options.tls_ca};
  if (const char* file = std::getenv("TAPML_RPC_CA"); file && trust.ca_file.empty()) {
    trust.ca_file = file;
  }
  return unwrap(rpc::connect(place, until, trust, options.interrupted));
}

std::unique_ptr<rpc::RemoteSession> open_remote_session(const target::Target& target,
                                                        const RemoteOptions& options) {
  const rpc::Place place = unwrap(rpc::parse_place(target.place));
  std::string token =
      read_token(options);  // what is wrong with it is told before anybody is called
  const auto until = handshake_end(options);
  return greet(open_channel(place, options, until), target, std::move(token), options, until);
}

std::unique_ptr<rpc::RemoteSession> open_remote_session(std::unique_ptr<rpc::Channel> channel,
                                                        const target::Target& target,
                                                        const RemoteOptions& options) {
  return greet(std::move(channel), target, read_token(options), options, handshake_end(options));
}

}  // namespace tapml::app
