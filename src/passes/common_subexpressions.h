// Common subexpression elimination.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Merges pure calls with the same callee, attributes and operands (constants by their contents),
// within a function and into its branches and lambdas. Excludes calls where an operator takes over
// the storage of either result, and impure functions. The remaining call gets the merged origins.
Module eliminate_common_subexpressions(const Module& module);

}  // namespace tapml::passes
