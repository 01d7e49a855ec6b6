// Shared by reductions over axes: which dimensions are reduced, and how the loops index the
// operand.
#pragma once

#include "op/dtypes.h"
#include "op/lowering.h"

namespace tapml::op {

// Axes of a call, counted from the front and sorted: attribute "axes" (empty: all), or the single
// "axis".
std::vector<int64_t> reduced_axes(const CallView& call, int ndim);
// The reduced argument 0: its dtype, and its shape without the axes (or with extents 1).
Known reduced(const CallView& call);

relax::Annotation deduce_reduced_number(const CallView& call);
relax::Annotation deduce_reduced_float(const CallView& call);

// The loops of a reduction of argument 0.
struct ReductionPlan {
  std::vector<int64_t> axes;
  Dims extents;
  Dims out_shape;
  bool keep;

  explicit ReductionPlan(const CallView& call);
  // Index into the operand for output index i and reduction index r.
  std::vector<PrimExpr> index(const std::vector<Var>& i, const std::vector<Var>& r) const;
  // Number of elements reduced into one, as `dtype`.
  PrimExpr count(DType dtype) const;
};

// An integer expression as a number.
PrimExpr count_of(const PrimExpr& extent, DType dtype);

// A table entry with the attributes axes and keepdims; generator draws both.
OperatorInfo axes_operator(const char* name, const char* doc, const char* accepts,
                           DeduceRule deduce, LegalizeRule legalize, ReferenceRule reference,
                           std::vector<DType> dtypes);

}  // namespace tapml::op
