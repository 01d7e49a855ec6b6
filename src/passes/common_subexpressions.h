// What is computed twice is computed once.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Pure calls with the same callee, attributes and operands (constants by their contents) become
// one, within a function and into its branches and lambdas. Not where an operator takes over the
// storage of either result, and not in impure functions. Origins are merged into the call that
// stays.
Module eliminate_common_subexpressions(const Module& module);

}  // namespace tapml::passes
