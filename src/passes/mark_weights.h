// Kernels learn which of their tensors are weights.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Kernels whose calls all pass weights in the same places get the attribute "weights" (numbers of
// these parameters) on specification and tensor program: implementations may then prepare copies of
// them at load. Modules without "model.weights" stay as they are.
Module mark_weights(const Module& module);

// Without these attributes.
Module unmark_weights(const Module& module);

}  // namespace tapml::passes
