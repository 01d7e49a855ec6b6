// Converts integer expressions to programs that the runtime evaluates.
#pragma once

#include <functional>
#include <span>

#include "abi/scalar_program.h"
#include "ir/expr.h"

namespace tapml::arith {

// The program of an integer expression; slot i of its evaluation is variables[i]. Supports
// constants, variables, + - * // % min max, comparisons, and, or, not, select (whose sides are both
// evaluated; truth values are 1 and 0), and casts between integer types (which the program does not
// check). Throws InternalError for an unlisted variable and for any other node.
ScalarProgram compile_scalar(const PrimExpr& expr, std::span<const Var> variables);
// The same, with a function that returns a variable's slot, or -1 if it has none.
using SlotOf = std::function<int64_t(const Var& variable)>;
ScalarProgram compile_scalar(const PrimExpr& expr, const SlotOf& slot_of);

// The expression that a program computes, slot i as variables[i]; truth values are 1 and 0.
// InternalError for a malformed program.
PrimExpr scalar_expression(const ScalarProgram& program, std::span<const Var> variables);

}  // namespace tapml::arith
