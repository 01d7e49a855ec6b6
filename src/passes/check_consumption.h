// Checks that no value is used after an operator has consumed it. Operators that update an argument
// in place are functions at graph level, but they invalidate that argument.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// UserError where a variable, or an alias of its storage (another name, a view, a field of a
// tuple), is used after it was consumed by an operator with inout arguments, an in-place kernel, or
// a call of a function that does so with its parameter. The hint is to copy it before. UserError
// also where a function that updates a parameter is used as a value, since its callers cannot know.
// The result of an if or of a function counts as a new tensor, although it may be an argument.
void check_consumption(const Module& module);

}  // namespace tapml::passes
