// Checks that no value is used after an operator has consumed it. Operators that update an argument
// in place are functions at graph level, but they invalidate that argument.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// UserError where a variable, or an alias of its storage (a view), is used after it was consumed by
// an operator with inout arguments, an in-place kernel, or a call of a function that does so with
// its parameter. The hint is to copy it before. UserError also where a function that updates a
// parameter is used as a value, since its callers cannot know.
void check_consumption(const Module& module);

}  // namespace tapml::passes
