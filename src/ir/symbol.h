// The least value of a symbolic integer, determined by where the integer gets its value.
//
// Host scalars, entries of shape values and loop variables of the graph level may be negative;
// dimensions of tensors may not. So each variable records its own least value: the function,
// match_cast or tensor program that gives it a value states it (relax/symbol_ranges.h,
// tir/scalar_ranges.h), and no other code makes assumptions.
#pragma once

#include <optional>

#include "ir/expr.h"

namespace tapml {

// An i64 variable whose value is at least `least`: 0 for a tensor's dimension.
Var make_size(std::string name, int64_t least = 0);
// std::nullopt if the variable may have any value.
std::optional<int64_t> least_value(const Var& var);
// Sets the least value of a variable that was made without one, before other code sees it: the
// parser meets a name before the tensor whose dimension it is.
void state_least_value(const Var& var, int64_t least);

// A new variable with the name, type and least value of `var`.
Var fresh_symbol(const Var& var);

// The bound on a variable that follows from `dim` >= 0.
struct LeastValue {
  Var var;
  int64_t least = 0;
};
// Handles expressions such as n, n - 3 and n*4 + 1: a positive constant multiple of one variable,
// plus a constant. std::nullopt for all others.
std::optional<LeastValue> least_of_dimension(const PrimExpr& dim);

}  // namespace tapml
