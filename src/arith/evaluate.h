// Values of integer expressions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ir/expr.h"

namespace tapml::arith {

using Values = std::map<const ExprNode*, int64_t>;

// The value of an integer or bool expression, given values of variables by node; bools are 0 and 1.
// std::nullopt if it has none: a variable without a value, a zero divisor, signed overflow of the
// expression's type, a cast that does not fit, floats, loads. Unsigned types wrap. `and`, `or` and
// `select` evaluate an operand only if it is needed.
std::optional<int64_t> evaluate(const PrimExpr& expr, const Values& values);

}  // namespace tapml::arith
