// Selects how this program loads machine code.
#pragma once

#include <memory>

#include "runtime/kernel_loader.h"

namespace tapml::app {

// With the compiler, archives and shared objects; without it, only shared objects (cli/runtime/).
std::shared_ptr<runtime::KernelLoader> make_kernel_loader();

}  // namespace tapml::app
