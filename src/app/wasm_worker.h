// Starts the program with the devices of WebAssembly on this computer, under Node.js for `--target
// wasm` and in a browser for `--target webgpu`.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "rpc/session/channel.h"

namespace tapml::app {

// The folder with tapml_worker.wasm, the pages and their scripts: the one that TAPML_WASM names,
// else that of the build or installation of this program. PlatformError kAbsent with what to build.
Result<std::string> wasm_folder() noexcept;

// Node.js (TAPML_NODE, else `node` on PATH) with the host of `platform` and tapml_worker.wasm from
// wasm_folder(). PlatformError kAbsent with what to install or build.
Result<std::unique_ptr<rpc::Channel>> start_wasm_worker(const std::string& platform) noexcept;

}  // namespace tapml::app
