// Facts about symbolic variables that follow from where they are bound (ir/symbol.h).
#pragma once

#include <initializer_list>

#include "arith/analyzer.h"

namespace tapml::arith {

// Adds the least value of a variable to `analyzer`, and `most` as its greatest value if given.
void bind_symbol(const Var& var, std::optional<int64_t> most, Analyzer& analyzer);
// Does the same for all variables of an expression.
void bind_symbols(const PrimExpr& expr, Analyzer& analyzer);
// An analyzer with the facts about the variables of these expressions, which may be null.
Analyzer analyzer_of(std::initializer_list<PrimExpr> exprs);

}  // namespace tapml::arith
