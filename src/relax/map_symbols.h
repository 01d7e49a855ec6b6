// Rewriting every symbolic integer of graph-level code.
#pragma once

#include <functional>

#include "relax/expr.h"

namespace tapml::relax {

using SymbolMap = std::function<PrimExpr(const PrimExpr&)>;

// The annotation with f's result in place of every dimension and prim value. What f makes of a
// variable stands for it in the parameters of function annotations, too.
Annotation map_symbols(const Annotation& annotation, const SymbolMap& f);

// The function with f's result in place of every dimension and prim value, in annotations and in
// values. All its variables are new; its symbolic variables are what f leaves.
FunctionRef map_symbols(const Function& function, const SymbolMap& f);

}  // namespace tapml::relax
