// Index rules for indices in tensors (docs/semantics.md): a negative index counts from the end of
// the axis. An index out of range reads 0 and writes nothing.
#pragma once

#include "op/lowering.h"

namespace tapml::op {

// Throws unless the dtype is i32 or i64, or unknown.
void expect_index_dtype(const CallView& call, size_t argument);
// The same for a tensor of a kTensors argument; `what` names it.
void expect_index_dtype(const CallView& call, const Known& indices, const std::string& what);

// Length of the index tuples in a tensor of shape [..., q]: constant and at most `ndim`.
int64_t index_depth(const CallView& call, const Dims& indices, int ndim);

// An element of an index tensor as an index into an axis of extent `dim`, and whether it is valid.
struct AxisIndex {
  PrimExpr index, valid;
};
AxisIndex axis_index(const tir::Buffer& indices, std::vector<PrimExpr> at, const PrimExpr& dim);

}  // namespace tapml::op
