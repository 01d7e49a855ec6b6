// Function inlining.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// The most bindings that inlining may add to one function, and to all together: a chain of
// functions that each call the next one twice would double at each level.
inline constexpr size_t kMostInlined = 10'000, kMostInlinedInAll = 50'000;

// Replaces calls of functions with the attribute "inline" by their bodies, inlining inside those
// first. Run-time checks of a call are kept as match_casts: for arguments that may not fit the
// signature, a result that may not, and bounds of the module. Calls are kept where the function has
// bounds of its own; where it is recursive, directly or indirectly; where an argument does not
// determine a symbolic variable; in dataflow blocks when the body is not one; and where bodies
// would exceed the limits above. The functions themselves stay in the module.
Module inline_functions(const Module& module);

}  // namespace tapml::passes
