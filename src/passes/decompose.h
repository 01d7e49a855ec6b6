// Decomposes operators into simpler ones.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Replaces calls by the code that their operator's DecomposeRule emits before them; bindings keep
// their variables and annotations. A result whose size depends on data becomes a count, its value
// as a shape, and an operator that fills a tensor of that size. UserError where an argument of such
// an operator has no known shape.
Module decompose(const Module& module);

}  // namespace tapml::passes
