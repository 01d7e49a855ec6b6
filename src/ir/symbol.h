// The least value of a symbolic integer, by where it gets its value.
//
// Host scalars, entries of shape values and loop variables of the graph level may be negative; only
// what a tensor's dimension gives is not. So the variable itself says what is known of it: where a
// function, a match_cast or a tensor program gives it its value, that place states the least one
// (relax/symbol_ranges.h, tir/scalar_ranges.h), and nothing else assumes anything.
#pragma once

#include <optional>

#include "ir/expr.h"

namespace tapml {

// A variable (i64) that is at least `least` wherever it has a value: 0 for a tensor's dimension.
Var make_size(std::string name, int64_t least = 0);
// Nothing where it may be any number.
std::optional<int64_t> least_value(const Var& var);
// States the least value of a variable that was made without one, before anyone else sees it: the
// parser meets a name before the tensor that it is a dimension of.
void state_least_value(const Var& var, int64_t least);

// A new variable that is like `var`: name, type and least value.
Var fresh_symbol(const Var& var);

// What `dim` >= 0 says of a variable.
struct LeastValue {
  Var var;
  int64_t least = 0;
};
// Of n, n - 3, n*4 + 1: expressions of one variable, in constant multiples that are positive, and
// constants. Nothing for others.
std::optional<LeastValue> least_of_dimension(const PrimExpr& dim);

}  // namespace tapml
