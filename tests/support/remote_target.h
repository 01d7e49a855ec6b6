// The remote target that an environment variable names: tests that can run remotely use it if it is
// set (scripts/test_aarch64 does).
#pragma once

#include <cstdlib>
#include <memory>
#include <string>

#include "ir/exceptions.h"
#include "rpc/session/remote_session.h"
#include "rpc/transport/connect.h"
#include "target/target.h"

namespace tapml::testing {

// "cpu@unix:board.sock"; empty if unset.
inline std::string remote_target() {
  const char* target = std::getenv("TAPML_REMOTE_TARGET");
  return target ? target : "";
}

// A session on the remote target; the description becomes that of the remote processor. Throws on
// failure.
inline std::unique_ptr<runtime::Session> open_remote_target(target::Target& target) {
  rpc::ConnectOptions options;
  options.target = target.text.substr(0, target.text.find('@'));
  auto channel = unwrap(rpc::connect(unwrap(rpc::parse_endpoint(target.endpoint))));
  auto session = unwrap(rpc::RemoteSession::connect(std::move(channel), options));
  target::adopt_device(target, session->info());
  return session;
}

}  // namespace tapml::testing
