// Quantized weights: integers of four or eight bits with one scale, and perhaps a minimum, per
// group, or indices of a table of values.
#include "op/reference/quantization.h"

#include "op/dtypes.h"
#include "op/elementwise.h"
#include "op/families.h"

namespace tapml::op {

namespace {

enum Argument : size_t { kPacked, kScales, kMinimums, kValues = kMinimums };

constexpr int64_t kNibbleValues = 16, kByteValues = 256;

constexpr int64_t kDefaultGroup = 32;

// Elements in a byte of packed weights of a dtype.
int64_t elements_of_byte(DType packed) { return packed == DType::kI8 ? 1 : 2; }

void expect_same_groups(const CallView& call, const Known& scales, const Known& minimums) {
  if (scales.ndim != relax::kUnknownNdim) expect_ndim(call, kMinimums, scales.ndim);
  if (!scales.shape || !minimums.shape) return;
  for (size_t i = 0; i < scales.shape->size(); ++i) {
    const std::string dim = std::to_string(i);
    expect_same_dim(call, (*scales.shape)[i], (*minimums.shape)[i],
                    "scales." + dim + " and minimums." + dim);
  }
}

relax::Annotation deduce_dequantize(const CallView& call) {
  const int64_t group = call.integer("group");
  if (group < 1) call.error("the group is empty", "group >= 1", std::to_string(group));
  const DType dtype = *find_attr<DType>(call.attrs, "dtype");
  if (!is_float(dtype)) call.error("dtype is not a float", "a float dtype", dtype_name(dtype));
  expect_min_ndim(call, kPacked, 1);
  expect_min_ndim(call, kScales, 1);
  expect_float(call, kScales);
  Known packed = known_tensor(call, kPacked), scales = known_tensor(call, kScales);
  if (packed.dtype != DType::kI8) expect_dtype(call, kPacked, DType::kU8);
  if (call.args.size() > kMinimums) {
    expect_float(call, kMinimums);
    expect_same_groups(call, scales, known_tensor(call, kMinimums));
  }
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
  }
  // Without the dtype it is not known how many elements a byte has.
  if (!packed.dtype) return tensor_result(result);
  const int64_t each = elements_of_byte(*packed.dtype);
  if (packed.shape && scales.shape) {
    expect_same_dim(
        call, packed.shape->back() * each, scales.shape->back() * group,
        each == 1 ? "packed.-1 and scales.-1 * group" : "packed.-1 * 2 and scales.-1 * group");
  }
  if (packed.shape) {
    result.shape = packed.shape;
    result.shape->back() = simplified(packed.shape->back() * each);
  }
  return tensor_result(result);
}

// Levels of a byte, by the number of values.
int64_t elements_of_byte(int64_t values) { return values == kByteValues ? 1 : 2; }

relax::Annotation deduce_dequantize_table(const CallView& call) {
  const int64_t group = call.integer("group");
  if (group < 1) call.error("the group is empty", "group >= 1", std::to_string(group));
  const DType dtype = *find_attr<DType>(call.attrs, "dtype");
  if (!is_float(dtype)) call.error("dtype is not a float", "a float dtype", dtype_name(dtype));
  expect_min_ndim(call, kPacked, 1);
  expect_min_ndim(call, kScales, 1);
  expect_dtype(call, kPacked, DType::kU8);
  expect_float(call, kScales);
  expect_ndim(call, kValues, 1);
  expect_dtype(call, kValues, DType::kF32);
  Known packed = known_tensor(call, kPacked), scales = known_tensor(call, kScales);
  const Known values = known_tensor(call, kValues);
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
  }
  // Without the number of values it is not known how many elements a byte has.
  if (!values.shape) return tensor_result(result);
  const PrimExpr& count = values.shape->front();
  if (!count.is_int() || (count->int_value != kNibbleValues && count->int_value != kByteValues)) {
    call.error("the table has another number of values than a nibble or a byte", "16 or 256 values",
               dims_text(*values.shape));
  }
  const int64_t each = elements_of_byte(count->int_value);
  if (packed.shape && scales.shape) {
    expect_same_dim(
        call, packed.shape->back() * each, scales.shape->back() * group,
        each == 1 ? "packed.-1 and scales.-1 * group" : "packed.-1 * 2 and scales.-1 * group");
  }
  if (packed.shape) {
    result.shape = packed.shape;
    result.shape->back() = simplified(packed.shape->back() * each);
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize_dequantize_table(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_dequantize_table(call));
  const int64_t group = call.integer("group");
  const tir::Buffer &packed = lowering.arg(kPacked), &scales = lowering.arg(kScales);
  const tir::Buffer& values = lowering.arg(kValues);
  const int64_t each = elements_of_byte(values->shape[0]->int_value);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  const DType compute = accumulation_dtype(out->dtype);
  lowering.add(tir::compute("dequantize", out, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> byte(i.begin(), i.end()), scale(i.begin(), i.end());
    scale.back() = floordiv(i.back(), group);
    if (each == 2) byte.back() = floordiv(i.back(), 2);
    PrimExpr level = cast(DType::kI32, tir::load(packed, byte));
    if (each == 2) {
      level = intrinsic("shift_right", level, cast(DType::kI32, floormod(i.back(), 2) * 4));
    }
    level = intrinsic("bit_and", level, make_int(each == 2 ? 15 : 255, DType::kI32));
    const PrimExpr value = tir::load(values, {cast(DType::kI64, level)});
    return cast(out->dtype, cast(compute, value) * cast(compute, tir::load(scales, scale)));
  }));
  return lowering.finish();
}

tir::PrimFuncRef legalize_dequantize(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_dequantize(call));
  const int64_t group = call.integer("group");
  const tir::Buffer &packed = lowering.arg(kPacked), &scales = lowering.arg(kScales);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  const DType compute = accumulation_dtype(out->dtype);
  const bool has_minimums = call.args.size() > kMinimums;
  const bool is_whole = packed->dtype == DType::kI8;
  lowering.add(tir::compute("dequantize", out, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> pair(i.begin(), i.end()), scale(i.begin(), i.end());
    scale.back() = floordiv(i.back(), group);
    PrimExpr level;
    if (is_whole) {
      level = tir::load(packed, pair);
    } else {
      pair.back() = floordiv(i.back(), 2);
      // The byte is loaded once: a value that is read once can be fused into its reader.
      PrimExpr half = cast(DType::kI32, floormod(i.back(), 2) * 4);
      PrimExpr bits = intrinsic("shift_right", cast(DType::kI32, tir::load(packed, pair)), half);
      level = intrinsic("bit_and", bits, make_int(15, DType::kI32));
      if (!has_minimums) level = level - make_int(kQuantizedZero, DType::kI32);
    }
    PrimExpr value = cast(compute, level) * cast(compute, tir::load(scales, scale));
    if (has_minimums) {
      value = value + cast(compute, tir::load(lowering.arg(kMinimums), scale));
    }
    return cast(out->dtype, value);
  }));
  return lowering.finish();
}

bool generate_groups(GeneratedCall& call, RandomStream& rng, bool has_minimums) {
  GeneratedTensor& packed = call.args[0].tensors[0];
  keep_moderate(packed.shape, 4096);
  if (packed.dtype == DType::kI8) {
    packed.low = -128;
    packed.high = 127;
  }
  const int64_t k = packed.shape.back() * elements_of_byte(packed.dtype);
  std::vector<int64_t> groups;
  for (int64_t group : {int64_t{1}, int64_t{2}, int64_t{6}, int64_t{32}, std::max<int64_t>(k, 1)}) {
    if (k % group == 0) groups.push_back(group);
  }
  const int64_t group = pick(groups, rng);
  GeneratedTensor scales{.dtype = pick(float_dtypes(), rng), .shape = packed.shape};
  scales.shape.back() = k / group;
  call.args.push_back({{scales}, {}});
  if (has_minimums) {
    scales.dtype = pick(float_dtypes(), rng);
    call.args.push_back({{scales}, {}});
  }
  call.attrs["group"] = group;
  call.attrs["dtype"] = pick(float_dtypes(), rng);
  return true;
}

bool generate_dequantize(GeneratedCall& call, RandomStream& rng) {
  return generate_groups(call, rng, false);
}

bool generate_dequantize_affine(GeneratedCall& call, RandomStream& rng) {
  return generate_groups(call, rng, true);
}

bool generate_dequantize_table(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& packed = call.args[0].tensors[0];
  keep_moderate(packed.shape, 4096);
  const int64_t values = pick(std::vector{kNibbleValues, kByteValues}, rng);
  const int64_t k = packed.shape.back() * elements_of_byte(values);
  std::vector<int64_t> groups;
  for (int64_t group : {int64_t{1}, int64_t{2}, int64_t{6}, int64_t{32}, std::max<int64_t>(k, 1)}) {
    if (k % group == 0) groups.push_back(group);
  }
  const int64_t group = pick(groups, rng);
  GeneratedTensor scales{.dtype = pick(float_dtypes(), rng), .shape = packed.shape};
  scales.shape.back() = k / group;
  call.args.push_back({{scales}, {}});
  call.args.push_back({{GeneratedTensor{.dtype = DType::kF32, .shape = {values}}}, {}});
  call.attrs["group"] = group;
  call.attrs["dtype"] = pick(float_dtypes(), rng);
  return true;
}

const std::vector<AttributeSpec>& dequantize_attributes() {
  static const std::vector<AttributeSpec> kAttributes = {
      {"group", AttributeKind::kInt, false, kDefaultGroup,
       "neighbours along the last dimension that share a scale; divides k"},
      {"dtype", AttributeKind::kDType, false, DType::kF32, "float dtype of the result"}};
  return kAttributes;
}

}  // namespace

std::span<const OperatorInfo> quantization_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "dequantize",
       .doc =
           "Weights of four or eight bits: out[..., j] = level j of the row * scales[..., j // "
           "group]. Levels are those of packed in i8, or the nibbles of packed in u8 minus 8: a "
           "byte holds two neighbours, the first in its low half. Computed in f32 (f64 where the "
           "result is), then rounded to the result's dtype. The result is not meant to be in "
           "memory: fusion computes it where it is read, in front of products too, and it is "
           "neither folded nor prepared (docs/quantization.md).",
       .args = {{"packed", ArgumentKind::kTensor, "[..., k / 2], u8, or [..., k], i8"},
                {"scales", ArgumentKind::kTensor, "[..., k / group], float"}},
       .attrs = dequantize_attributes(),
       .inout = {},
       .deduce = deduce_dequantize,
       .legalize = legalize_dequantize,
       .reference = reference::dequantize,
       .generator = {{1, 2, 3}, {DType::kU8, DType::kI8}, 0, 255, generate_dequantize},
       .expands = true},
      {.name = "dequantize_affine",
       .doc =
           "Weights with a minimum for each group: out[..., j] = level j of the row * scales[..., "
           "j // group] + minimums[..., j // group], rounded after the product and after the sum. "
           "Levels are those of packed in i8, or the nibbles of packed in u8. The rest is as of "
           "dequantize.",
       .args = {{"packed", ArgumentKind::kTensor, "[..., k / 2], u8, or [..., k], i8"},
                {"scales", ArgumentKind::kTensor, "[..., k / group], float"},
                {"minimums", ArgumentKind::kTensor, "[..., k / group], float"}},
       .attrs = dequantize_attributes(),
       .inout = {},
       .deduce = deduce_dequantize,
       .legalize = legalize_dequantize,
       .reference = reference::dequantize,
       .generator = {{1, 2, 3}, {DType::kU8, DType::kI8}, 0, 255, generate_dequantize_affine},
       .expands = true},
      {.name = "dequantize_table",
       .doc =
           "Weights of floats of four or eight bits: out[..., j] = values[level j of the row] * "
           "scales[..., j // group]. With 16 values a byte holds the levels of two neighbours, the "
           "first in its low half; with 256 it is one level. The rest is as of dequantize.",
       .args = {{"packed", ArgumentKind::kTensor, "[..., k / 2] or [..., k], u8"},
                {"scales", ArgumentKind::kTensor, "[..., k / group], float"},
                {"values", ArgumentKind::kTensor, "[16] or [256], f32"}},
       .attrs = dequantize_attributes(),
       .inout = {},
       .deduce = deduce_dequantize_table,
       .legalize = legalize_dequantize_table,
       .reference = reference::dequantize_table,
       .generator = {{1, 2, 3}, {DType::kU8}, 0, 255, generate_dequantize_table},
       .expands = true},
  };
  return kOperators;
}

}  // namespace tapml::op
