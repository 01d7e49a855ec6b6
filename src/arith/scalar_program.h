// Integer expressions as programs that the runtime evaluates.
#pragma once

#include <span>

#include "abi/scalar_program.h"
#include "ir/expr.h"

namespace tapml::arith {

// The program of an integer expression; slot i of its evaluation is variables[i]. Holds constants,
// variables, + - * // % min max, comparisons, and, or, not, select (whose sides are both evaluated;
// truth values are 1 and 0), and casts between integer types (which the program does not
// check). An InternalError for a variable that is not listed and for any other node.
ScalarProgram compile_scalar(const PrimExpr& expr, std::span<const Var> variables);

// The expression that a program computes, slot i as variables[i]; truth values are 1 and 0.
// InternalError for a malformed program.
PrimExpr scalar_expression(const ScalarProgram& program, std::span<const Var> variables);

}  // namespace tapml::arith
