// Quantized weights: four-bit integers with one scale per group.
#include "op/reference/quantization.h"

#include "op/dtypes.h"
#include "op/elementwise.h"
#include "op/families.h"

namespace tapml::op {

namespace {

enum Argument : size_t { kPacked, kScales };

constexpr int64_t kDefaultGroup = 32;

relax::Annotation deduce_dequantize(const CallView& call) {
  const int64_t group = call.integer("group");
  if (group < 1) call.error("the group is empty", "group >= 1", std::to_string(group));
  const DType dtype = *find_attr<DType>(call.attrs, "dtype");
  if (!is_float(dtype)) call.error("dtype is not a float", "a float dtype", dtype_name(dtype));
  expect_min_ndim(call, kPacked, 1);
  expect_min_ndim(call, kScales, 1);
  expect_dtype(call, kPacked, DType::kU8);
  expect_float(call, kScales);
  Known packed = known_tensor(call, kPacked), scales = known_tensor(call, kScales);
  if (packed.ndim != relax::kUnknownNdim) expect_ndim(call, kScales, packed.ndim);
  Known result;
  result.dtype = dtype;
  result.ndim = packed.ndim != relax::kUnknownNdim ? packed.ndim : scales.ndim;
  if (packed.shape && scales.shape) {
    for (size_t i = 0; i + 1 < packed.shape->size(); ++i) {
      const std::string dim = std::to_string(i);
      expect_same_dim(call, (*packed.shape)[i], (*scales.shape)[i],
                      "packed." + dim + " and scales." + dim);
    }
    expect_same_dim(call, packed.shape->back() * 2, scales.shape->back() * group,
                    "packed.-1 * 2 and scales.-1 * group");
  }
  if (packed.shape) {
    result.shape = packed.shape;
    result.shape->back() = simplified(packed.shape->back() * 2);
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize_dequantize(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_dequantize(call));
  const int64_t group = call.integer("group");
  const tir::Buffer &packed = lowering.arg(kPacked), &scales = lowering.arg(kScales);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  const DType compute = accumulation_dtype(out->dtype);
  lowering.add(tir::compute("dequantize", out, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> pair(i.begin(), i.end()), scale(i.begin(), i.end());
    pair.back() = floordiv(i.back(), 2);
    scale.back() = floordiv(i.back(), group);
    // The byte is loaded once: a value that is read once can be fused into its reader.
    PrimExpr half = cast(DType::kI32, floormod(i.back(), 2) * 4);
    PrimExpr bits = intrinsic("shift_right", cast(DType::kI32, tir::load(packed, pair)), half);
    PrimExpr level = intrinsic("bit_and", bits, make_int(15, DType::kI32)) -
                     make_int(kQuantizedZero, DType::kI32);
    return cast(out->dtype, cast(compute, level) * cast(compute, tir::load(scales, scale)));
  }));
  return lowering.finish();
}

bool generate_dequantize(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& packed = call.args[0].tensors[0];
  keep_moderate(packed.shape, 4096);
  const int64_t k = packed.shape.back() * 2;
  std::vector<int64_t> groups;
  for (int64_t group : {int64_t{1}, int64_t{2}, int64_t{6}, int64_t{32}, std::max<int64_t>(k, 1)}) {
    if (k % group == 0) groups.push_back(group);
  }
  const int64_t group = pick(groups, rng);
  GeneratedTensor scales{.dtype = pick(float_dtypes(), rng), .shape = packed.shape};
  scales.shape.back() = k / group;
  call.args.push_back({{scales}, {}});
  call.attrs["group"] = group;
  call.attrs["dtype"] = pick(float_dtypes(), rng);
  return true;
}

}  // namespace

std::span<const OperatorInfo> quantization_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "dequantize",
       .doc =
           "Weights of four bits: out[..., j] = (nibble j of the row - 8) * scales[..., j // "
           "group]. A byte holds two neighbours, the first in its low half. Computed in f32 (f64 "
           "where the result is), then rounded to the result's dtype. The result is not meant to "
           "be in memory: fusion computes it where it is read, in front of products too, and it is "
           "neither folded nor prepared (docs/quantization.md).",
       .args = {{"packed", ArgumentKind::kTensor, "[..., k / 2], u8"},
                {"scales", ArgumentKind::kTensor, "[..., k / group], float"}},
       .attrs = {{"group", AttributeKind::kInt, false, kDefaultGroup,
                  "neighbours along the last dimension that share a scale; divides k"},
                 {"dtype", AttributeKind::kDType, false, DType::kF32, "float dtype of the result"}},
       .inout = {},
       .deduce = deduce_dequantize,
       .legalize = legalize_dequantize,
       .reference = reference::dequantize,
       .generator = {{1, 2, 3}, {DType::kU8}, 0, 255, generate_dequantize},
       .expands = true},
  };
  return kOperators;
}

}  // namespace tapml::op
