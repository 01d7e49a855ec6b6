// The kernels of native_kernels.h as generated code, for other machines.
#pragma once

#include "codegen/llvm/native.h"

namespace tapml::test {

// As a shared object for the description's processor.
ModuleBlob generated_blob(const target::Description& description);

// "twice_f32" and so on: the second buffer is twice the first, for bool the opposite; dtypes
// without native arithmetic (f16, bf16) compute in f32.
codegen::DeviceFunc generated_twice(DType dtype);

}  // namespace tapml::test
