// Dimensions that broadcasting requires to be 1 or equal to another: one expression for both cases,
// so that a match_cast can check it.
#pragma once

#include <string>

#include "ir/expr.h"

namespace tapml::arith {

// The value that `dim` must equal: 1 if `dim` is 1, else `extent`. Both must be at least 0.
PrimExpr broadcast_dim(const PrimExpr& dim, const PrimExpr& extent);

// For messages: "1 or n" for broadcast_dim(dim, n), else the expression as it is.
std::string dim_text(const PrimExpr& expr);

}  // namespace tapml::arith
