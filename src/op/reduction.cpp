// Reductions over axes by one associative operation.
#include "op/reference/reduction.h"

#include "op/elementwise.h"
#include "op/families.h"
#include "op/reduce.h"

namespace tapml::op {

namespace {

PrimExpr product_of(PrimExpr a, PrimExpr b) { return std::move(a) * std::move(b); }
PrimExpr min_of(PrimExpr a, PrimExpr b) { return min(std::move(a), std::move(b)); }
PrimExpr and_of(PrimExpr a, PrimExpr b) { return logical_and(std::move(a), std::move(b)); }
PrimExpr or_of(PrimExpr a, PrimExpr b) { return logical_or(std::move(a), std::move(b)); }

tir::PrimFuncRef reduction(const CallView& call, DType out_dtype, const PrimExpr& init,
                           BinaryFunction combine, UnaryFunction convert = nullptr,
                           const std::function<PrimExpr(PrimExpr)>& finish = {}) {
  Lowering lowering(call);
  ReductionPlan plan(call);
  const tir::Buffer& x = lowering.arg(0);
  DType compute = init.dtype();
  tir::Buffer out = lowering.output("out", plan.out_shape, out_dtype);
  add_reduction(
      lowering, call.info.name, out, compute, plan.extents, init, combine,
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        PrimExpr element = tir::load(x, plan.index(i, r));
        return convert ? convert(std::move(element)) : cast(compute, std::move(element));
      },
      finish);
  return lowering.finish();
}

tir::PrimFuncRef legalize_sum(const CallView& call) {
  DType dtype = call.dtype(0);
  return reduction(call, dtype, number(0, accumulation_dtype(dtype)), sum_of);
}
tir::PrimFuncRef legalize_prod(const CallView& call) {
  DType dtype = call.dtype(0);
  return reduction(call, dtype, number(1, accumulation_dtype(dtype)), product_of);
}
tir::PrimFuncRef legalize_mean(const CallView& call) {
  DType dtype = call.dtype(0), compute = accumulation_dtype(dtype);
  PrimExpr count = ReductionPlan(call).count(compute);
  return reduction(call, dtype, number(0, compute), sum_of, nullptr,
                   [&](PrimExpr total) { return fdiv(std::move(total), count); });
}
tir::PrimFuncRef legalize_max(const CallView& call) {
  return reduction(call, call.dtype(0), lowest(call.dtype(0)), max_of);
}
tir::PrimFuncRef legalize_min(const CallView& call) {
  return reduction(call, call.dtype(0), highest(call.dtype(0)), min_of);
}
tir::PrimFuncRef legalize_any(const CallView& call) {
  return reduction(call, DType::kBool, make_bool(false), or_of, truth);
}
tir::PrimFuncRef legalize_all(const CallView& call) {
  return reduction(call, DType::kBool, make_bool(true), and_of, truth);
}

relax::Annotation deduce_truth(const CallView& call) {
  Known result = reduced(call);
  result.dtype = DType::kBool;
  return tensor_result(result);
}

}  // namespace

std::span<const OperatorInfo> reduction_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      axes_operator("sum",
                    "Sum over axes, kept in f32 for narrower floats; integers keep their dtype and "
                    "wrap; 0 for no elements.",
                    "any shape, a number", deduce_reduced_number, legalize_sum, reference::sum,
                    number_dtypes()),
      axes_operator("mean", "Sum over axes divided by the number of elements, floats.",
                    "any shape, float", deduce_reduced_float, legalize_mean, reference::mean,
                    float_dtypes()),
      axes_operator("prod", "Product over axes, dtypes as sum; 1 for no elements.",
                    "any shape, a number", deduce_reduced_number, legalize_prod, reference::prod,
                    number_dtypes()),
      axes_operator("max",
                    "Largest element over axes, NaN where one is; the lowest value of the dtype "
                    "(-inf for floats) for no elements.",
                    "any shape, a number", deduce_reduced_number, legalize_max, reference::max,
                    number_dtypes()),
      axes_operator("min",
                    "Smallest element over axes, NaN where one is; the highest value of the dtype "
                    "(inf for floats) for no elements.",
                    "any shape, a number", deduce_reduced_number, legalize_min, reference::min,
                    number_dtypes()),
      axes_operator("any", "Whether an element over axes is not 0; false for no elements.",
                    "any shape and dtype", deduce_truth, legalize_any, reference::any,
                    joined({DType::kBool}, number_dtypes())),
      axes_operator("all", "Whether every element over axes is not 0; true for no elements.",
                    "any shape and dtype", deduce_truth, legalize_all, reference::all,
                    joined({DType::kBool}, number_dtypes())),
  };
  return kOperators;
}

}  // namespace tapml::op
