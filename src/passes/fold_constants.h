#pragma once

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Replaces operator calls whose tensors are all constants by their value, as the operators'
// references compute it, rounded to the result's dtype. Only results of static shape of at most
// kFoldBytes: larger ones cost more as data than as work.
Module fold_constants(const Module& module);

inline constexpr int64_t kFoldBytes = 1024;

// The constant that one operator call is, bound to a variable of this annotation; null where it
// cannot or should not be folded.
relax::Expr folded_value(const relax::Expr& value, const relax::Annotation& annotation);

}  // namespace tapml::passes
