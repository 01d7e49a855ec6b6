// Distinguishes data from index arithmetic: data wraps, index arithmetic does not overflow.
#pragma once

#include <functional>

#include "ir/expr.h"

namespace tapml::codegen {

// Whether the value of `e` comes from a buffer or from a float. Everything else is index arithmetic
// on loop variables, dimensions and constants. `is_data_var` answers this for let-bound variables.
bool is_data(const PrimExpr& e, const std::function<bool(const PrimExpr&)>& is_data_var);

}  // namespace tapml::codegen
