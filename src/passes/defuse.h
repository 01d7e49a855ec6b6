// Splits fused kernels, for use where one operator at a time is wanted: to find the operator at
// fault, or for a target that has no good schedule for a fused kernel.
#pragma once

#include <functional>
#include <string>

#include "ir/module.h"

namespace tapml::passes {

// Selects the kernels to split, by name.
using KernelChoice = std::function<bool(const std::string& kernel)>;

// Replaces calls of kernels with several operators by calls of one kernel per operator, in the
// kernel's order; views become views. Removes the split kernels from the module. Kernels of one
// operator, and calls that update an argument, are kept. Expects the output of fuse_tensor_ir; the
// name of the fusion policy records that the kernels differ.
Module defuse(const Module& module);
Module defuse_kernels(const Module& module, const KernelChoice& choice);

}  // namespace tapml::passes
