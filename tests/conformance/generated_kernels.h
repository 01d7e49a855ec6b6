// The kernels of native_kernels.h as generated code, for machines that are not this one.
#pragma once

#include "codegen/llvm/native.h"

namespace tapml::test {

// As a shared object for the description's processor.
ModuleBlob generated_blob(const target::Description& description);

}  // namespace tapml::test
