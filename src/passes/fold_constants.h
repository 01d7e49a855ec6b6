#pragma once

#include <set>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Replaces operator calls whose tensors are all constants by their value, as the operators'
// references compute it, rounded to the result's dtype. Only results of static shape of at most
// kFoldBytes: larger ones cost more as data than as work. What a pattern cut out stays operators.
Module fold_constants(const Module& module);

inline constexpr int64_t kFoldBytes = 1024;

// The constant that one operator call is, bound to a variable of this annotation; null where it
// cannot or should not be folded.
relax::Expr folded_value(const relax::Expr& value, const relax::Annotation& annotation);

// Whether neither the function nor a lambda in it writes or calls what is not pure.
bool has_no_effects(const relax::Function& function);

// Variables of a function that must not become constants, because what they hold is changed or may
// be: what is updated in place, and in functions with effects all that goes anywhere but into
// operators. `pure`: whether the function that this one's body becomes part of has none.
std::set<const relax::VarNode*> held_variables(const relax::Function& function, bool pure = true);

}  // namespace tapml::passes
