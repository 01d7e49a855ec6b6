// Operators that update an argument in place take it over: at graph level they are functions, but
// what they were given is gone.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// UserError where a variable, or another name of its storage (a view), is used after what consumed
// it: an operator with inout arguments, a kernel in place, or a call of a function that does so
// with its parameter. The hint is to copy it before. UserError also where a function that updates a
// parameter is used as a value: who calls it cannot know.
void check_consumption(const Module& module);

}  // namespace tapml::passes
