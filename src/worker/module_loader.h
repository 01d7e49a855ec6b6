// Kernel modules that the host loads: WebAssembly that shares this program's memory and table.
#pragma once

#include <memory>

#include "runtime/kernel_loader.h"

namespace tapml::worker {

// ModuleBlob::format of supported modules: a shared WebAssembly module (dylink.0).
inline constexpr const char* kModuleFormat = "wasm";

std::shared_ptr<runtime::KernelLoader> make_module_loader();

}  // namespace tapml::worker
