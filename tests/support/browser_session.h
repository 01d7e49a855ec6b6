// Sessions in tabs of one browser, which starts with the first and ends with the test program.
#pragma once

#include <unistd.h>

#include <memory>
#include <thread>

#include "rpc/session/remote_session.h"
#include "rpc/transport/child_process.h"
#include "rpc/transport/connect.h"

namespace tapml::testing {

// PlatformError kAbsent without Node.js, a browser or a GPU of it.
inline Result<std::unique_ptr<runtime::Session>> open_browser_session() {
  static const std::string socket = "/tmp/tapml-test-" + std::to_string(::getpid()) + ".sock";
  // Ends with its standard input.
  static const auto host = rpc::start_program(
      {"node", TAPML_WASM_FOLDER "/tapml_browser.mjs", "--listen", socket}, "webgpu");
  if (!host) return fail(host.error());
  const rpc::Endpoint endpoint = *rpc::parse_endpoint("unix:" + socket);
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (::access(socket.c_str(), F_OK) != 0 && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  TAPML_ASSIGN(auto channel, rpc::connect(endpoint, until));
  rpc::ConnectOptions options;
  options.target = "webgpu";
  TAPML_ASSIGN(auto session, rpc::RemoteSession::connect(std::move(channel), options));
  return std::unique_ptr<runtime::Session>(std::move(session));
}

}  // namespace tapml::testing
