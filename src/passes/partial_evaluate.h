// Evaluates at compile time what is known at compile time.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// - A pure call with a known argument (a host scalar, a shape, a constant) is replaced by the
//   function's body, if that decides every if in it, recursive calls included: recursion and loops
//   of known length are unrolled. The call stays where it decides less, leads to more than
//   kMostCalls calls, or checks a bound that the argument may exceed.
// - An if whose condition is known becomes its branch.
// - A function that a variable holds is called by its name; symbolic variables with a known value
//   from a match_cast have it from there on; operators on constants are computed (fold_constants).
// Annotations of later bindings become as precise as these facts allow. Run-time checks of a call
// stay as match_casts, as in inline_functions. Kernels, patterns, functions cut out by patterns and
// the annotations of function results are not changed.
Module partial_evaluate(const Module& module);

// The most calls that one call may lead to; otherwise it stays.
inline constexpr int kMostCalls = 128;

}  // namespace tapml::passes
