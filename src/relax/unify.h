// Unifies argument annotations with a signature.
#pragma once

#include "relax/annotation.h"

namespace tapml::relax {

// Solves the annotations of parameters against those of the same number of arguments: adds to
// `values` the variables that alone are a dimension or prim value of a parameter, and those that
// are the only unknown in a linear dimension (n + 1 against k + 3 gives n = k + 2). False if two
// provably differ in kind, rank, dtype, field count or a constant dimension; `index` is then the
// index of the parameter. Callers check the remaining expressions.
bool unify_all(const std::vector<Annotation>& params, const std::vector<Annotation>& arguments,
               VarMap& values, size_t& index);

}  // namespace tapml::relax
