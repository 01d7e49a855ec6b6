// Whether two executables run a kernel by the same code.
#pragma once

#include <string>

#include "exec/executable.h"

namespace tapml {

// Of the implementation's module, launches and scratch, 32 hexadecimal digits; the numbers of
// kernel and module, which depend on the other kernels, do not count. Modules that hold several
// kernels (pipeline::ImplementOptions::module_per_kernel) change with each of them.
std::string code_digest(const Executable& executable, const Implementation& implementation);

}  // namespace tapml
