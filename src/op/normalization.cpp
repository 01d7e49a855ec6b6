// Operators that divide rows by a statistic of the row.
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

relax::Annotation deduce_rms_norm(const CallView& call) {
  expect_float(call, 0);
  expect_float(call, 1);
  expect_min_ndim(call, 0, 1);
  expect_ndim(call, 1, 1);
  Known x = known_tensor(call, 0), weight = known_tensor(call, 1);
  if (x.shape && weight.shape) {
    expect_same_dim(call, x.shape->back(), weight.shape->back(), "x.-1 and weight.0");
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_rms_norm(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  const tir::Buffer& weight = lowering.arg(1);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  Dims rows(x->shape.begin(), x->shape.end() - 1);
  tir::Buffer squares = lowering.workspace("squares", rows, compute);
  const PrimExpr& extent = x->shape.back();
  lowering.add(tir::reduce("rms_norm_squares", squares, {extent}, number(0, compute), sum_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             std::vector<PrimExpr> index(i);
                             index.push_back(r[0]);
                             PrimExpr value = load_wide(x, index);
                             return value * value;
                           }));
  PrimExpr count = extent.is_int() ? number(static_cast<double>(extent->int_value), compute)
                                   : cast(compute, extent);
  PrimExpr epsilon = number(call.number("epsilon"), compute);
  lowering.add(tir::compute("rms_norm", out, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> row(i.begin(), i.end() - 1);
    PrimExpr mean = fdiv(tir::load(squares, row), count);
    PrimExpr scale = make_call("rsqrt", compute, {mean + epsilon});
    PrimExpr value = load_wide(x, i) * scale * cast(compute, tir::load(weight, {i.back()}));
    return cast(out->dtype, value);
  }));
  return lowering.finish();
}

relax::Annotation deduce_softmax(const CallView& call) {
  expect_float(call, 0);
  expect_min_ndim(call, 0, 1);
  Known x = known_tensor(call, 0);
  if (x.ndim != relax::kUnknownNdim) normalized_axis(call, call.integer("axis"), x.ndim);
  return tensor_result(x);
}

tir::PrimFuncRef legalize_softmax(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  auto axis = static_cast<size_t>(
      normalized_axis(call, call.integer("axis"), static_cast<int>(x->shape.size())));
  Dims rows = x->shape;
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis));
  Dims extents = {x->shape[axis]};
  tir::Buffer peak = lowering.workspace("peak", rows, compute);
  tir::Buffer exps = lowering.workspace("exps", x->shape, compute);
  tir::Buffer total = lowering.workspace("total", rows, compute);
  auto row_of = [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> row(i);
    row.erase(row.begin() + static_cast<std::ptrdiff_t>(axis));
    return row;
  };
  auto point = [&](const std::vector<Var>& i, const std::vector<Var>& r) {
    std::vector<PrimExpr> index(i);
    index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), r[0]);
    return index;
  };
  lowering.add(tir::reduce("softmax_max", peak, extents, lowest(compute), max_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             return load_wide(x, point(i, r));
                           }));
  lowering.add(tir::compute("softmax_exp", exps, [&](const std::vector<Var>& i) {
    return make_call("exp", compute, {load_wide(x, i) - tir::load(peak, row_of(i))});
  }));
  lowering.add(tir::reduce("softmax_sum", total, extents, number(0, compute), sum_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             return tir::load(exps, point(i, r));
                           }));
  lowering.add(tir::compute("softmax", out, [&](const std::vector<Var>& i) {
    return cast(out->dtype, fdiv(tir::load(exps, i), tir::load(total, row_of(i))));
  }));
  return lowering.finish();
}

}  // namespace

std::span<const OperatorInfo> normalization_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "rms_norm",
       .doc = "x * rsqrt(mean(x^2 over the last axis) + epsilon) * weight, computed in f32; the "
              "result has x's dtype.",
       .args = {{"x", ArgumentKind::kTensor, "[..., d], float"},
                {"weight", ArgumentKind::kTensor, "[d], float of any width"}},
       .attrs = {{"epsilon", AttributeKind::kFloat, false, 1e-5, "added to the mean"}},
       .inout = {},
       .deduce = deduce_rms_norm,
       .legalize = legalize_rms_norm,
       .reference = reference::rms_norm,
       .generator = {{1, 2, 3}, {DType::kF32, DType::kF16, DType::kBF16}}},
      {.name = "softmax",
       .doc = "exp(x - max) divided by its sum along one axis, computed in f32.",
       .args = {{"x", ArgumentKind::kTensor, "[..., d], float"}},
       .attrs = {{"axis", AttributeKind::kInt, false, int64_t{-1}, "negative from the end"}},
       .inout = {},
       .deduce = deduce_softmax,
       .legalize = legalize_softmax,
       .reference = reference::softmax,
       .generator = {{1, 2, 3}, {DType::kF32, DType::kF16, DType::kBF16}}},
  };
  return kOperators;
}

}  // namespace tapml::op
