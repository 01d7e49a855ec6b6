// Host machine code by LLVM: device functions to a relocatable object, and the JIT that loads it.
#pragma once

#include <memory>
#include <vector>

#include "codegen/lower/device_func.h"
#include "exec/executable.h"
#include "runtime/kernel_loader.h"

namespace tapml::codegen {

// One object with the C entry of every function (see runtime::CpuKernel), built for this host's
// CPU.
ModuleBlob compile_native(const std::vector<DeviceFunc>& functions);
// LLVM IR of the functions before optimization, for readers.
std::string native_ir(const std::vector<DeviceFunc>& functions);

// Loads such objects into this process. Refuses code for CPU features that this machine lacks.
std::shared_ptr<runtime::KernelLoader> make_jit_loader();

}  // namespace tapml::codegen
