// What is decided already is done at compile time.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// - A pure call with a known argument (a host scalar, a shape, a constant) becomes what the
//   function does, if that decides every if in it, calls of itself included: recursion and loops of
//   known length are unrolled. Where it decides less, takes more than kMostCalls calls, or checks a
//   bound that the argument may be above, the call stays.
// - An if whose condition is known becomes its branch.
// - A function that a variable holds is called by its name; symbolic variables that a match_cast
//   gives a known value have it from there on; operators on constants are computed
//   (fold_constants).
// Annotations behind become as fine as then follows. What a call checks at run time stays as
// match_casts, as in inline_functions. Kernels, patterns and what these cut out stay as they are;
// so does what a function returns.
Module partial_evaluate(const Module& module);

// Calls that one call may lead to before it is left alone.
inline constexpr int kMostCalls = 128;

}  // namespace tapml::passes
