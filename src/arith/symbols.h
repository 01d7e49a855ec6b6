// What is known of symbolic variables by where they come from (ir/symbol.h), as facts.
#pragma once

#include <initializer_list>

#include "arith/analyzer.h"

namespace tapml::arith {

// Tells `analyzer` of a variable: its least value, and `most` where that is given.
void bind_symbol(const Var& var, std::optional<int64_t> most, Analyzer& analyzer);
// Of the variables of an expression.
void bind_symbols(const PrimExpr& expr, Analyzer& analyzer);
// An analyzer that knows of the variables of these expressions; null ones have none.
Analyzer analyzer_of(std::initializer_list<PrimExpr> exprs);

}  // namespace tapml::arith
