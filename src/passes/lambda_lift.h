// Closures become functions of the module.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Marks a function that only this module calls: it goes when nothing refers to it any more.

// Moves the body of every lambda to a function of the module, "<function>.<variable>", whose first
// parameters are what the lambda captures: symbolic variables as one shape (`s`), then variables. A
// lambda that is called by its variable is called by that name, captures first; one that is used as
// a value stays as a lambda whose body only passes on:
//   f = def (x: A) -> R { r: R = @main.f(shape(n), y, x)  return r }
// Recursive lambdas pass their captures on to themselves. Idempotent.
Module lambda_lift(const Module& module);

}  // namespace tapml::passes
