// Symbolic scalars of kernel calls.
#pragma once

#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::relax {

// Values of an implementation's scalars at a call, over the caller's symbolic variables: those that
// stand alone in a dimension of an input are read off `args`, the rest are `symbols` in order.
std::vector<PrimExpr> scalar_values(const tir::PrimFunc& implementation,
                                    const std::vector<Annotation>& args, const Dims& symbols);

// Scalars of an implementation that no dimension of an input gives: what call_tir passes extra.
std::vector<Var> underived_scalars(const tir::PrimFunc& implementation);

}  // namespace tapml::relax
