// Marks which tensors of kernels are weights.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Kernels whose calls all pass weights in the same positions get the attribute "weights" (indices
// of these parameters) on specification and tensor program: implementations may then prepare copies
// of them at load. Modules without "model.weights" are not changed.
Module mark_weights(const Module& module);

// Removes these attributes.
Module unmark_weights(const Module& module);

}  // namespace tapml::passes
