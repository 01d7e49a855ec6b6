// WebAssembly under Node.js, one process per session.
#pragma once

#include <memory>

#include "rpc/session/remote_session.h"
#include "rpc/transport/child_process.h"

namespace tapml::testing {

inline const std::string kWasmHost = TAPML_WASM_FOLDER "/tapml_host.mjs";

// PlatformError kAbsent if Node.js is not installed.
inline Result<std::unique_ptr<runtime::Session>> open_wasm_session() {
  TAPML_ASSIGN(auto channel, rpc::start_program({"node", kWasmHost}, "wasm"));
  rpc::ConnectOptions options;
  options.target = "wasm";
  TAPML_ASSIGN(auto session, rpc::RemoteSession::connect(std::move(channel), options));
  return std::unique_ptr<runtime::Session>(std::move(session));
}

}  // namespace tapml::testing
