// Custom fusion by patterns (Relax paper, section 4.4).
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Cuts out what the module's patterns (build/pattern.h) match, in dataflow blocks of every
// function: each match becomes a function with attribute "fused" that calls the operators, and in
// the end one kernel. Patterns of more operators go first, then by name; a binding belongs to one
// match. A match is passed over where its kernel would have more than kFusionTensors tensors, where
// an argument's shape is not known, where only run time can tell that dimensions agree, and where
// something updates an argument between its bindings.
//
// The patterns leave the module, and its attribute "fusion_policy" names them by their hash: what
// was cut out otherwise does not migrate into each other. UserError for a pattern that can match
// nothing.
Module match(const Module& module);

}  // namespace tapml::passes
