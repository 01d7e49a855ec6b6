// Lambda lifting: closures become functions of the module.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Moves the body of every lambda to a function of the module, "<function>.<variable>", whose first
// parameters are the lambda's captures: symbolic variables as one shape (`s`), then variables. A
// call of a lambda's variable becomes a call of that function, captures first; a lambda used as a
// value remains as a lambda that only forwards:
//   f = def (x: A) -> R { r: R = @main.f(shape(n), y, x)  return r }
// Recursive lambdas pass their captures on to themselves. Idempotent.
Module lambda_lift(const Module& module);

}  // namespace tapml::passes
