// Whether two executables run a kernel with the same code.
#pragma once

#include <string>

#include "exec/executable.h"

namespace tapml {

// Digest of the implementation's module, launches and scratch, as 32 hexadecimal digits; it
// excludes the indices of kernel and module, which depend on the other kernels. Modules that hold
// several kernels (pipeline::ImplementOptions::module_per_kernel) change with each of them.
std::string code_digest(const Executable& executable, const Implementation& implementation);

}  // namespace tapml
