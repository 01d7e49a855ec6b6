// Quantized weights: integers of two to eight bits with one scale, and perhaps a minimum, per
// group, or indices of a table of values.
#include "op/reference/quantization.h"

#include <cmath>
#include <functional>

#include "op/dtypes.h"
#include "op/elementwise.h"
#include "op/families.h"
#include "tensor/packed_levels.h"

namespace tapml::op {

namespace {

enum QuantizedArgument : size_t { kPacked, kScales, kMinimums };

constexpr int64_t kTableValues = 16;

constexpr int64_t kDefaultGroup = 32, kDefaultBits = 4;

// Bits of a level: a byte of i8 is one.
int bits_of(DType packed, const AttrMap& attrs) {
  return packed == DType::kI8 ? 8 : static_cast<int>(attr_or<int64_t>(attrs, "bits", kDefaultBits));
}

void check_bits(const CallView& call, const std::optional<DType>& packed) {
  if (!call.attrs.contains("bits")) return;
  const int64_t bits = call.integer("bits");
  if (packed == DType::kI8) {
    if (bits != 8) call.error("levels in i8 have 8 bits", "bits 8", std::to_string(bits));
  } else if (bits < kLeastLevelBits || bits > kMostLevelBits) {
    call.error("levels in u8 have 2 to 6 bits", "bits from 2 to 6", std::to_string(bits));
  }
}

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
  check_bits(call, packed.dtype);
  // Without the dtype it is not known how many elements a byte has.
  if (!packed.dtype || !packed.shape) return tensor_result(result);
  const int bits = bits_of(*packed.dtype, call.attrs);
  const PrimExpr levels = packed.shape->back() * 8;
  if (scales.shape) {
    const std::string of_scales = "scales.-1 * group";
    const PrimExpr columns = scales.shape->back() * group;
    if (8 % bits == 0) {
      const int64_t each = 8 / bits;
      expect_same_dim(
          call, packed.shape->back() * each, columns,
          (each == 1 ? "packed.-1" : "packed.-1 * " + std::to_string(each)) + " and " + of_scales);
    } else {
      expect_same_dim(call, levels, columns * bits,
                      "packed.-1 * 8 and " + of_scales + " * " + std::to_string(bits));
    }
  }
  result.shape = packed.shape;
  result.shape->back() = simplified(floordiv(levels, bits));
  return tensor_result(result);
}

struct SmallFloat {
  std::string_view name;
  int bits, mantissa_bits, bias;
};
constexpr SmallFloat kSmallFloats[] = {{"e2m1", 4, 1, 1}, {"e4m3", 8, 3, 7}};

const SmallFloat* find_small_float(const AttrMap& attrs) {
  const std::string name = attr_or<std::string>(attrs, "format", "");
  for (const SmallFloat& one : kSmallFloats) {
    if (name == one.name) return &one;
  }
  return nullptr;
}

// Of codes in u8, `each` in a byte.
relax::Annotation deduce_codes(const CallView& call, int64_t each) {
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

relax::Annotation deduce_dequantize_float(const CallView& call) {
  const SmallFloat* format = find_small_float(call.attrs);
  if (!format) {
    call.error("format is not a known float", "e2m1 or e4m3",
               attr_or<std::string>(call.attrs, "format", ""));
  }
  return deduce_codes(call, 8 / format->bits);
}

std::vector<double> table_of(const AttrMap& attrs) {
  return attr_or<std::vector<double>>(attrs, "values", {});
}

relax::Annotation deduce_dequantize_table(const CallView& call) {
  const auto count = std::ssize(table_of(call.attrs));
  if (count != kTableValues) {
    call.error("the table does not have a value for each nibble", "16 values",
               std::to_string(count));
  }
  return deduce_codes(call, 2);
}

// The product of a code's value, in f32 or f64, and its scale.
tir::PrimFuncRef legalize_codes(
    const CallView& call, relax::TensorAnnotation result, int64_t each,
    const std::function<PrimExpr(DType compute, const PrimExpr& code)>& value_of) {
  Lowering lowering(call);
  const int64_t group = call.integer("group");
  const tir::Buffer &packed = lowering.arg(kPacked), &scales = lowering.arg(kScales);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  const DType compute = accumulation_dtype(out->dtype);
  lowering.add(tir::compute("dequantize", out, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> byte(i.begin(), i.end()), scale(i.begin(), i.end());
    scale.back() = floordiv(i.back(), group);
    if (each == 2) byte.back() = floordiv(i.back(), 2);
    PrimExpr code = cast(DType::kI32, tir::load(packed, byte));
    if (each == 2) {
      code = intrinsic("shift_right", code, cast(DType::kI32, floormod(i.back(), 2) * 4));
      code = intrinsic("bit_and", code, make_int(15, DType::kI32));
    }
    const PrimExpr value = value_of(compute, code);
    return cast(out->dtype, value * cast(compute, tir::load(scales, scale)));
  }));
  return lowering.finish();
}

PrimExpr i32(int64_t value) { return make_int(value, DType::kI32); }

tir::PrimFuncRef legalize_dequantize_float(const CallView& call) {
  const SmallFloat& format = *find_small_float(call.attrs);
  // The bits of an f32 of the same exponent and mantissa. A subnormal number becomes the difference
  // of two others, so that platforms without subnormal numbers compute it exactly.
  const auto value = [&format](DType compute, const PrimExpr& code) {
    constexpr int kBits = 23, kBias = 127;
    const int sign = 1 << (format.bits - 1), bias = kBias - format.bias;
    const PrimExpr magnitude = intrinsic("bit_and", code, i32(sign - 1));
    const PrimExpr is_subnormal = lt(magnitude, i32(1 << format.mantissa_bits));
    const PrimExpr exponent = select(is_subnormal, i32((bias + 1) << kBits), i32(bias << kBits));
    const PrimExpr shifted =
        intrinsic("shift_left", magnitude, i32(kBits - format.mantissa_bits)) + exponent;
    const PrimExpr number = make_call("reinterpret", DType::kF32, {shifted});
    const double least = std::ldexp(1.0, 1 - format.bias);
    const PrimExpr result =
        number - select(is_subnormal, make_float(least, DType::kF32), make_float(0, DType::kF32));
    const PrimExpr is_negative = ne(intrinsic("bit_and", code, i32(sign)), i32(0));
    return cast(compute, select(is_negative, make_float(0, DType::kF32) - result, result));
  };
  return legalize_codes(call, known_result(call, deduce_dequantize_float(call)), 8 / format.bits,
                        value);
}

// Of the 2^bits values from `first` on, the one at the low bits of the code: a load at a computed
// place would not become a vector.
PrimExpr pick_value(const std::vector<double>& values, const PrimExpr& code, DType compute,
                    size_t first, int bits) {
  if (bits == 0) return make_float(values[first], compute);
  const int half = 1 << (bits - 1);
  return select(ne(intrinsic("bit_and", code, i32(half)), i32(0)),
                pick_value(values, code, compute, first + static_cast<size_t>(half), bits - 1),
                pick_value(values, code, compute, first, bits - 1));
}

tir::PrimFuncRef legalize_dequantize_table(const CallView& call) {
  std::vector<double> values = table_of(call.attrs);
  for (double& value : values) value = static_cast<float>(value);
  const auto value = [&values](DType compute, const PrimExpr& code) {
    return pick_value(values, code, compute, 0, 4);
  };
  return legalize_codes(call, known_result(call, deduce_dequantize_table(call)), 2, value);
}

// The level at an index, in i32. Each plane's byte is loaded once: a value that is read once can be
// fused into its reader.
PrimExpr load_level(const tir::Buffer& packed, std::vector<PrimExpr> index, const PrimExpr& columns,
                    int bits) {
  const PrimExpr column = index.back();
  PrimExpr level, first_byte = 0;
  for (const LevelPlane& plane : level_planes(bits)) {
    const int64_t in_byte = plane.in_byte();
    index.back() = simplified(first_byte + floordiv(column, in_byte));
    const PrimExpr at = cast(DType::kI32, floormod(column, in_byte) * plane.bits);
    PrimExpr part = intrinsic("shift_right", cast(DType::kI32, tir::load(packed, index)), at);
    part = intrinsic("bit_and", part, i32((1 << plane.bits) - 1));
    if (plane.shift > 0) part = intrinsic("shift_left", part, i32(plane.shift));
    level = level ? intrinsic("bit_or", level, part) : part;
    first_byte = first_byte + floordiv(columns, in_byte);
  }
  return level;
}

tir::PrimFuncRef legalize_dequantize(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_dequantize(call));
  const int64_t group = call.integer("group");
  const tir::Buffer &packed = lowering.arg(kPacked), &scales = lowering.arg(kScales);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  const DType compute = accumulation_dtype(out->dtype);
  const bool has_minimums = call.args.size() > kMinimums;
  const int bits = bits_of(packed->dtype, call.attrs);
  lowering.add(tir::compute("dequantize", out, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> byte(i.begin(), i.end()), scale(i.begin(), i.end());
    scale.back() = floordiv(i.back(), group);
    PrimExpr level;
    if (bits == 8) {
      level = tir::load(packed, byte);
    } else {
      level = load_level(packed, byte, result.shape->back(), bits);
      if (!has_minimums) level = level - i32(zero_level(bits));
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
  int64_t k = packed.shape.back();
  if (packed.dtype == DType::kU8) {
    const int64_t bits = rng.below(2) == 0 ? kDefaultBits : 2 + static_cast<int64_t>(rng.below(5));
    if (bits != kDefaultBits) call.attrs["bits"] = bits;
    // So that the planes of a row are whole bytes.
    if (8 % bits != 0) packed.shape.back() = k * bits;
    k = packed.shape.back() * 8 / bits;
  }
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

// Scales, the group and the dtype of codes in u8, `each` in a byte.
void generate_scales(GeneratedCall& call, RandomStream& rng, int64_t each) {
  GeneratedTensor& packed = call.args[0].tensors[0];
  keep_moderate(packed.shape, 4096);
  const int64_t k = packed.shape.back() * each;
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
}

bool generate_dequantize_float(GeneratedCall& call, RandomStream& rng) {
  const SmallFloat format =
      pick(std::vector<SmallFloat>(std::begin(kSmallFloats), std::end(kSmallFloats)), rng);
  call.attrs["format"] = std::string(format.name);
  generate_scales(call, rng, 8 / format.bits);
  return true;
}

bool generate_dequantize_table(GeneratedCall& call, RandomStream& rng) {
  generate_scales(call, rng, 2);
  std::vector<double> values;
  for (int64_t i = 0; i < kTableValues; ++i) {
    values.push_back(static_cast<double>(rng.below(2001)) / 1000 - 1);
  }
  call.attrs["values"] = std::move(values);
  return true;
}

std::vector<AttributeSpec> with_bits(std::vector<AttributeSpec> attributes) {
  attributes.push_back({"bits",
                        AttributeKind::kInt,
                        false,
                        {},
                        "of a level in u8, 2 to 6, by default 4; in i8 it has 8"});
  return attributes;
}

const std::vector<AttributeSpec>& dequantize_attributes() {
  static const std::vector<AttributeSpec> kAttributes = {
      {"group", AttributeKind::kInt, false, kDefaultGroup,
       "neighbours along the last dimension that share a scale; divides k"},
      {"dtype", AttributeKind::kDType, false, DType::kF32, "float dtype of the result"}};
  return kAttributes;
}

std::vector<AttributeSpec> with_format(std::vector<AttributeSpec> attributes) {
  attributes.push_back({"format", AttributeKind::kString, true, {}, "e2m1 or e4m3"});
  return attributes;
}

std::vector<AttributeSpec> with_values(std::vector<AttributeSpec> attributes) {
  attributes.push_back({"values", AttributeKind::kFloats, true, {}, "16 numbers, as f32"});
  return attributes;
}

}  // namespace

std::span<const OperatorInfo> quantization_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "dequantize",
       .doc =
           "Weights of two to six or eight bits: out[..., j] = level j of the row * scales[..., j "
           "// group]. Levels are those of packed in i8, or those of packed in u8 minus "
           "2^(bits - 1): a byte of four bits holds two neighbours, the first in its low half; the "
           "rows of other bits are as docs/quantization.md says. Computed in f32 (f64 where the "
           "result is), then rounded to the result's dtype. The result is not meant to be in "
           "memory: fusion computes it where it is read, in front of products too, and it is "
           "neither folded nor prepared (docs/quantization.md).",
       .args = {{"packed", ArgumentKind::kTensor, "[..., k * bits / 8], u8, or [..., k], i8"},
                {"scales", ArgumentKind::kTensor, "[..., k / group], float"}},
       .attrs = with_bits(dequantize_attributes()),
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
           "Levels are those of packed in i8 or in u8, from 0 on. The rest is as of dequantize.",
       .args = {{"packed", ArgumentKind::kTensor, "[..., k * bits / 8], u8, or [..., k], i8"},
                {"scales", ArgumentKind::kTensor, "[..., k / group], float"},
                {"minimums", ArgumentKind::kTensor, "[..., k / group], float"}},
       .attrs = with_bits(dequantize_attributes()),
       .inout = {},
       .deduce = deduce_dequantize,
       .legalize = legalize_dequantize,
       .reference = reference::dequantize,
       .generator = {{1, 2, 3}, {DType::kU8, DType::kI8}, 0, 255, generate_dequantize_affine},
       .expands = true},
      {.name = "dequantize_float",
       .doc =
           "Weights of small floats: out[..., j] = float j of the row * scales[..., j // group]. "
           "Of e4m3 (bias 7) a byte is one, of e2m1 (bias 1) a byte holds two neighbours, the "
           "first in its low half; exponents without a bit are those of subnormal numbers, and "
           "all codes are numbers. The rest is as of dequantize.",
       .args = {{"packed", ArgumentKind::kTensor, "[..., k / 2] of e2m1 or [..., k] of e4m3, u8"},
                {"scales", ArgumentKind::kTensor, "[..., k / group], float"}},
       .attrs = with_format(dequantize_attributes()),
       .inout = {},
       .deduce = deduce_dequantize_float,
       .legalize = legalize_dequantize_float,
       .reference = reference::dequantize_float,
       .generator = {{1, 2, 3}, {DType::kU8}, 0, 255, generate_dequantize_float},
       .expands = true},
      {.name = "dequantize_table",
       .doc =
           "Weights of four bits, which are indices of a table: out[..., j] = values[nibble j of "
           "the row] * scales[..., j // group]. A byte holds two neighbours, the first in its low "
           "half. The rest is as of dequantize.",
       .args = {{"packed", ArgumentKind::kTensor, "[..., k / 2], u8"},
                {"scales", ArgumentKind::kTensor, "[..., k / group], float"}},
       .attrs = with_values(dequantize_attributes()),
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
