// Operators that are made of simpler ones.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Replaces calls by what their operator's DecomposeRule emits in front of them; bindings keep their
// variables and annotations. Results whose size depends on data become a count, its value as a
// shape and an operator that fills a tensor of that size. UserError where such an operator's
// argument has no known shape.
Module decompose(const Module& module);

}  // namespace tapml::passes
