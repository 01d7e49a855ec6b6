// Operators that update an argument in place take it over: at graph level they are functions, but
// what they were given is gone.
#pragma once

#include <string>

#include "relax/expr.h"

namespace tapml::passes {

// UserError where a variable, or another name of its storage (a view), is used after an operator
// with inout arguments consumed it; the hint is to copy it before. `name` is the function's.
void check_consumption(const relax::Function& function, const std::string& name);

}  // namespace tapml::passes
