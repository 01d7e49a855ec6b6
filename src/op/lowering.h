// Shared by legalizations: buffers for the arguments, workspaces, and the finished PrimFunc.
#pragma once

#include "op/shapes.h"
#include "tir/builder.h"

namespace tapml::op {

// Collects the parts of one operator's tensor program. Parameters are the tensor arguments in
// order (tuples of tensors flattened), then the outputs in the order in which they are made.
class Lowering {
 public:
  explicit Lowering(const CallView& call);

  // Buffer of tensor argument `index`, or of tensor `field` of a kTensors argument.
  const tir::Buffer& arg(size_t index, size_t field = 0) const;
  size_t field_count(size_t index) const { return args_[index].size(); }
  tir::Buffer output(const std::string& name, Dims shape, DType dtype);
  // Memory between two statements of the program.
  tir::Buffer workspace(const std::string& name, Dims shape, DType dtype);
  void add(tir::Stmt stmt) { stmts_.push_back(std::move(stmt)); }
  tir::PrimFuncRef finish();

 private:
  std::vector<std::vector<tir::Buffer>> args_;
  std::vector<tir::Param> params_;
  std::vector<tir::Buffer> workspaces_;
  std::vector<tir::Stmt> stmts_;
};

// The deduced result as a tensor of known shape and dtype.
relax::TensorAnnotation known_result(const CallView& call, const relax::Annotation& result);

// Element of `buffer` in the type of arithmetic on its dtype (f32 for f16 and bf16).
PrimExpr load_wide(const tir::Buffer& buffer, std::vector<PrimExpr> indices);
// An element used as an index.
PrimExpr load_index(const tir::Buffer& buffer, std::vector<PrimExpr> indices);
// A number in `dtype`, float or integer.
PrimExpr number(double value, DType dtype);
// Lowest value: minus infinity for floats.
PrimExpr lowest(DType dtype);
// Highest value: infinity for floats.
PrimExpr highest(DType dtype);

// Reduces into `out`. If `accumulation` is wider than out's dtype, reduces through a workspace and
// applies `finish` (may be empty) to the total in the accumulation dtype.
void add_reduction(
    Lowering& lowering, const std::string& name, const tir::Buffer& out, DType accumulation,
    const Dims& extents, const PrimExpr& init,
    const std::function<PrimExpr(PrimExpr, PrimExpr)>& combine,
    const std::function<PrimExpr(const std::vector<Var>&, const std::vector<Var>&)>& term,
    const std::function<PrimExpr(PrimExpr)>& finish = {});

PrimExpr sum_of(PrimExpr a, PrimExpr b);
PrimExpr max_of(PrimExpr a, PrimExpr b);

}  // namespace tapml::op
