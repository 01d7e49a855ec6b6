// Lowers device functions to LLVM IR. Private to codegen/llvm.
#pragma once

#include <vector>

#include "codegen/lower/device_func.h"

namespace llvm {
class Module;
}

namespace tapml::codegen {

// Adds `function` to `module`: an internal function with one noalias pointer for each buffer, and
// the exported entry that unpacks the arguments and calls it.
void emit_function(llvm::Module& module, const DeviceFunc& function);

}  // namespace tapml::codegen
