// Starts the program with the WebAssembly device on this computer for `--target wasm`.
#pragma once

#include <memory>

#include "base/result.h"
#include "rpc/session/channel.h"

namespace tapml::app {

// Node.js (TAPML_NODE, else `node` on PATH) with tapml_host.mjs and tapml_worker.wasm from the
// folder that TAPML_WASM names, else from the build or installation of this program. PlatformError
// kAbsent with what to install or build.
Result<std::unique_ptr<rpc::Channel>> start_wasm_worker() noexcept;

}  // namespace tapml::app
