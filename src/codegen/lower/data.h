// Data and index arithmetic are told apart: data wraps, index arithmetic does not overflow.
#pragma once

#include <functional>

#include "ir/expr.h"

namespace tapml::codegen {

// Whether the value of `e` comes from a buffer or from a float. All else is index arithmetic over
// loop variables, dimensions and constants. `is_data_var` says it of variables that a let binds.
bool is_data(const PrimExpr& e, const std::function<bool(const PrimExpr&)>& is_data_var);

}  // namespace tapml::codegen
