#pragma once

#include <set>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Replaces operator calls whose tensors are all constants by their value, as the operators'
// reference implementations compute it, rounded to the result's dtype. Only folds results of static
// shape of at most kFoldBytes: larger ones cost more as data than as work. Functions cut out by a
// pattern are not folded.
Module fold_constants(const Module& module);

inline constexpr int64_t kFoldBytes = 1024;

// The constant that an operator call folds to, bound to a variable of this annotation; null where
// it cannot or should not be folded.
relax::Expr folded_value(const relax::Expr& value, const relax::Annotation& annotation);

// Whether neither the function nor a lambda in it writes or calls impure functions.
bool has_no_effects(const relax::Function& function);

// Variables of a function that must not become constants, because their contents are or may be
// changed: those updated in place, and in functions with effects all that are used by anything but
// operators. `pure`: whether the function that this body becomes part of has no effects.
std::set<const relax::VarNode*> held_variables(const relax::Function& function, bool pure = true);

}  // namespace tapml::passes
