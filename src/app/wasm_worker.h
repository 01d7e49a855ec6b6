// The program that has the WebAssembly device, started on this machine for `--target wasm`.
#pragma once

#include <memory>

#include "base/result.h"
#include "rpc/session/channel.h"

namespace tapml::app {

// Node.js (`node` on PATH, else TAPML_NODE) with tapml_host.mjs and tapml_worker.wasm, which lie in
// the folder that TAPML_WASM names, else where a build or an installation of this program has them.
// PlatformError kAbsent that says what to install or build.
Result<std::unique_ptr<rpc::Channel>> start_wasm_worker() noexcept;

}  // namespace tapml::app
