// Calls become what they call.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Marks a function that its callers are to take over.

// Bindings that calls may add to one function, and to all together: what calls another twice, which
// calls another twice, would double at each level.
inline constexpr size_t kMostInlined = 10'000, kMostInlinedInAll = 50'000;

// Puts the bodies of functions with the attribute "inline" in place of their calls, their own
// inlined calls first. What a call checks at run time stays as match_casts: arguments that may not
// fit the signature, a result that may not, and bounds of the module. Calls stay where the function
// has bounds of its own; where the function calls itself, at
// whatever distance; where an argument does not say what a symbolic variable is; and in dataflow
// blocks when the body is not one; and where bodies would add more than the bindings above. The
// functions themselves stay in the module.
Module inline_functions(const Module& module);

}  // namespace tapml::passes
