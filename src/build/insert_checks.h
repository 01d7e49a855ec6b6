// Run-time checks of what deduction cannot decide.
#pragma once

#include "ir/module.h"

namespace tapml::build {

// Where a binding's annotation says more than follows from its value, the value is bound to a
// variable of its own, as it is deduced, and a match_cast of the same name stands between the two:
//
//   y: Tensor((m,), f32) = multiply(a, b)
//
// becomes
//
//   y_found: Tensor(ndim=1, f32) = multiply(a, b)
//   y: Tensor((m,), f32) = match_cast(y_found, Tensor((m,), f32))
//
// At run time a value that does not fit ends the program with a UserError that names "binding y of
// f" (or, as the binding was written, "match_cast y of f", "result of g in binding y of f"), the
// dimension, the expected expression with its value and what came. Parameters and
// results are checked at the function's own boundary. Kernels and patterns stay as they are.
// UserError where an annotation is provably not the deduced one.
Module insert_checks(const Module& module);

}  // namespace tapml::build
