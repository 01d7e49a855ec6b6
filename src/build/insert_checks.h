// Inserts run-time checks where deduction cannot decide.
#pragma once

#include "ir/module.h"

namespace tapml::build {

// If a binding's annotation is more precise than the one deduced from its value, the value is bound
// to a new variable with the deduced annotation, followed by a match_cast with the original name:
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
// dimension, the expected expression with its value and the found value. Parameters and results are
// checked at the function's boundary. Kernels and patterns are unchanged. UserError if an
// annotation provably disagrees with the deduced one.
Module insert_checks(const Module& module);

}  // namespace tapml::build
