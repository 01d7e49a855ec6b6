// Dimensions that broadcasting wants to be 1 or another's: one expression for both, so that a
// match_cast can ask for them.
#pragma once

#include <string>

#include "ir/expr.h"

namespace tapml::arith {

// `extent`, or 1 where `dim` is: what `dim` must equal. Both are at least 0.
PrimExpr broadcast_dim(const PrimExpr& dim, const PrimExpr& extent);

// For messages: "1 or n" for broadcast_dim(dim, n), else the expression as it is.
std::string dim_text(const PrimExpr& expr);

}  // namespace tapml::arith
