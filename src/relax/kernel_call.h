// Symbolic scalars of kernel calls.
#pragma once

#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::relax {

// Values of an implementation's scalars at a call, over the caller's symbolic variables: those that
// stand alone in a dimension of an input are read off `args`, the rest are `symbols` in order.
std::vector<PrimExpr> scalar_values(const tir::PrimFunc& implementation,
                                    const std::vector<Annotation>& args, const Dims& symbols);

// What a call's tensors must look like where the scalars have these values: one annotation an in or
// inout parameter, in order.
std::vector<Annotation> argument_annotations(const tir::PrimFunc& implementation,
                                             const std::vector<PrimExpr>& values);
Annotation buffer_annotation(const tir::Buffer& buffer, const VarMap& values);

// Scalars of an implementation that no dimension of an input gives: what call_tir passes extra.
std::vector<Var> underived_scalars(const tir::PrimFunc& implementation);

}  // namespace tapml::relax
