// The kernels of native_kernels.h as generated code, for machines that are not this one.
#pragma once

#include "codegen/llvm/native.h"

namespace tapml::test {

// As a shared object for the description's processor.
ModuleBlob generated_blob(const target::Description& description);

// "twice_f32" and so on: its second buffer is twice the first one, of bool the opposite; what has
// no arithmetic of its own (f16, bf16) in f32.
codegen::DeviceFunc generated_twice(DType dtype);

}  // namespace tapml::test
