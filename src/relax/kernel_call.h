// Symbolic scalars of kernel calls.
#pragma once

#include "relax/expr.h"
#include "tir/prim_func.h"

namespace tapml::relax {

// Values of an implementation's scalars at a call, over the caller's symbolic variables: scalars
// that alone are a dimension of an input come from `args`, the rest from `symbols` in order.
std::vector<PrimExpr> scalar_values(const tir::PrimFunc& implementation,
                                    const std::vector<Annotation>& args, const Dims& symbols);

// The annotations that a call's tensors must have if the scalars have these values: one for each in
// or inout parameter, in order.
std::vector<Annotation> argument_annotations(const tir::PrimFunc& implementation,
                                             const std::vector<PrimExpr>& values);
Annotation buffer_annotation(const tir::Buffer& buffer, const VarMap& values);

// Scalars of an implementation that no dimension of an input gives; call_tir passes them
// explicitly.
std::vector<Var> underived_scalars(const tir::PrimFunc& implementation);

}  // namespace tapml::relax
