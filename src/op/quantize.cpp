// Activations as integers of eight bits, quantized where a product reads them.
#include "op/elementwise.h"
#include "op/families.h"
#include "op/reference/quantization.h"

namespace tapml::op {

namespace {

relax::Annotation deduce_quantize(const CallView& call) {
  const int64_t group = call.integer("group");
  if (group < 1) call.error("the group is empty", "group >= 1", std::to_string(group));
  expect_min_ndim(call, 0, 1);
  expect_float(call, 0);
  Known levels = known_tensor(call, 0);
  if (levels.dtype == DType::kF64) {
    call.error("x has a dtype whose groups have no scales in f32", "f32, f16 or bf16", "f64");
  }
  levels.dtype = DType::kI8;
  Known scales = levels;
  scales.dtype = DType::kF32;
  if (scales.shape) {
    PrimExpr& last = scales.shape->back();
    const PrimExpr count = simplified(floordiv(last, group));
    expect_same_dim(call, last, count * group, "x.-1 and whole groups");
    last = count;
  }
  return relax::tuple_annotation({tensor_result(levels), tensor_result(scales)});
}

tir::PrimFuncRef legalize_quantize(const CallView& call) {
  Lowering lowering(call);
  deduce_quantize(call);
  const int64_t group = call.integer("group");
  const tir::Buffer& x = lowering.arg(0);
  Dims groups = x->shape;
  groups.back() = simplified(floordiv(groups.back(), group));
  tir::Buffer levels = lowering.output("levels", x->shape, DType::kI8);
  tir::Buffer scales = lowering.output("scales", groups, DType::kF32);
  const auto f32 = [](double value) { return make_float(value, DType::kF32); };
  tir::Buffer peak = lowering.workspace("peak", groups, DType::kF32);
  lowering.add(tir::reduce("quantize_peak", peak, {group}, f32(0), max_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             std::vector<PrimExpr> at(i.begin(), i.end());
                             at.back() = i.back() * group + r[0];
                             return intrinsic("abs", load_wide(x, at));
                           }));
  tir::Buffer steps = lowering.workspace("steps", groups, DType::kF32);
  lowering.add(tir::compute("quantize_step", steps, [&](const std::vector<Var>& i) {
    const std::vector<PrimExpr> at(i.begin(), i.end());
    const PrimExpr is_tiny = lt(tir::load(peak, at), f32(kLeastPeak));
    return select(is_tiny, f32(0), fdiv(tir::load(peak, at), f32(kLargestLevel)));
  }));
  lowering.add(tir::compute("quantize_scales", scales, [&](const std::vector<Var>& i) {
    return tir::load(steps, std::vector<PrimExpr>(i.begin(), i.end()));
  }));
  lowering.add(tir::compute("quantize", levels, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> at(i.begin(), i.end());
    at.back() = floordiv(i.back(), group);
    const PrimExpr step = tir::load(steps, at);
    const PrimExpr level = intrinsic("round", fdiv(load_wide(x, {i.begin(), i.end()}), step));
    const PrimExpr kept = min(max(level, f32(-kLargestLevel)), f32(kLargestLevel));
    return cast(DType::kI8, select(tapml::eq(step, f32(0)), f32(0), kept));
  }));
  return lowering.finish();
}

bool generate_quantize(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& x = call.args[0].tensors[0];
  keep_moderate(x.shape, 4096);
  std::vector<int64_t> groups;
  for (int64_t group :
       {int64_t{1}, int64_t{3}, int64_t{8}, int64_t{32}, std::max<int64_t>(x.shape.back(), 1)}) {
    if (x.shape.back() % group == 0) groups.push_back(group);
  }
  call.attrs["group"] = pick(groups, rng);
  return true;
}

}  // namespace

std::span<const OperatorInfo> quantize_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "quantize",
       .doc =
           "Activations of eight bits with a scale for each group of neighbours along the last "
           "dimension, a tuple of both: scales[..., g] = max |x| / 127 over the group, or 0 where "
           "that maximum is below 2^-100; levels[..., j] = round(x[..., j] / scale), ties to even, "
           "within -127 .. 127; 0 where the scale is 0 or not finite. Computed in f32. "
           "dequantize(levels, scales) is x but for the rounding (docs/quantization.md).",
       .args = {{"x", ArgumentKind::kTensor, "[..., k], f32, f16 or bf16"}},
       .attrs = {{"group", AttributeKind::kInt, false, int64_t{32},
                  "neighbours that share a scale; divides k"}},
       .outputs = 2,
       .inout = {},
       .deduce = deduce_quantize,
       .legalize = legalize_quantize,
       .reference = reference::quantize,
       .generator =
           {{1, 2, 3}, {DType::kF32, DType::kF16, DType::kBF16}, -4, 4, generate_quantize}},
  };
  return kOperators;
}

}  // namespace tapml::op
