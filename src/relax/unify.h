// Fitting argument annotations to a signature.
#pragma once

#include "relax/annotation.h"

namespace tapml::relax {

// Solves the annotations of parameters against those of the arguments, as many of both: extends
// `values` by the variables that stand alone in a dimension or prim value of a parameter, and by
// those that are the only unknown one of a linear dimension (n + 1 against k + 3 gives n = k + 2).
// False where two are provably of different kind, rank, dtype, field count or constant dimension;
// `index` is then the number of the parameter. Callers check the remaining expressions.
bool unify_all(const std::vector<Annotation>& params, const std::vector<Annotation>& arguments,
               VarMap& values, size_t& index);

}  // namespace tapml::relax
