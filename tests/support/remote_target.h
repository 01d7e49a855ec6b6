// The machine that a variable of the environment names: tests that can run on another one do so
// where it is set (scripts/test_aarch64 does).
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "ir/exceptions.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/connect.h"
#include "target/target.h"

namespace tapml::testing {

// "cpu@unix:board.sock"; empty: none.
inline std::string remote_target() {
  const char* target = std::getenv("TAPML_REMOTE_TARGET");
  return target ? target : "";
}

// A session there; what code is made for becomes the machine's. Throws what it cannot do.
inline std::unique_ptr<runtime::Session> open_remote_target(target::Target& target) {
  rpc::ConnectOptions options;
  options.target = target.text.substr(0, target.text.find('@'));
  auto channel = unwrap(rpc::connect(unwrap(rpc::parse_endpoint(target.endpoint))));
  auto session = unwrap(rpc::RemoteSession::connect(std::move(channel), options));
  target::adopt_device(target, session->info());
  return session;
}

}  // namespace tapml::testing
