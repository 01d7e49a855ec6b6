// Custom fusion by patterns (Relax paper, section 4.4).
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Outlines matches of the module's patterns (build/pattern.h) in dataflow blocks of every function:
// each match becomes a function with attribute "fused" that calls the operators, and eventually one
// kernel. Patterns with more operators go first, then by name; a binding belongs to one match. A
// match is skipped if its kernel would have more than kFusionTensors tensors, if an argument's
// shape is unknown, if dimensions can be compared only at run time, or if something updates an
// argument between its bindings.
//
// Removes the patterns from the module; its attribute "fusion_policy" records them by their hash,
// since kernels formed by different patterns do not migrate into each other. UserError for a
// pattern that can never match.
Module match(const Module& module);

}  // namespace tapml::passes
