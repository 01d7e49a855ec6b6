// Kernels taken apart again, for where one operator at a time is wanted: to find the one that is at
// fault, or for a target that has no good schedule for what fusion made.
#pragma once

#include <functional>
#include <string>

#include "ir/module.h"

namespace tapml::passes {

// Which kernels to split, by name.
using KernelChoice = std::function<bool(const std::string& kernel)>;

// Replaces calls of kernels of several operators by calls of a kernel for each of these, in the
// kernel's order; views become views. The kernels that are split are gone from the module. Kernels
// of one operator, and calls that update an argument, stay. Needs what fuse_tensor_ir leaves; the
// fusion policy's name says that the kernels are others.
Module defuse(const Module& module);
Module defuse_kernels(const Module& module, const KernelChoice& choice);

}  // namespace tapml::passes
