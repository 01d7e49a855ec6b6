// Resizes images.
#include "op/reference/resize.h"

#include <algorithm>

#include "base/strings.h"
#include "op/dtypes.h"
#include "op/families.h"
#include "op/sliding_window.h"

namespace tapml::op {

namespace {

const std::string& text(const CallView& call, const char* name) {
  return *find_attr<std::string>(call.attrs, name);
}

void expect_one_of(const CallView& call, const char* name, const std::vector<std::string>& known) {
  const std::string& found = text(call, name);
  if (std::find(known.begin(), known.end(), found) != known.end()) return;
  call.error(std::string(name) + " is not known", join(known), found);
}

void check_modes(const CallView& call) {
  expect_one_of(call, "method", {"nearest", "bilinear"});
  expect_one_of(call, "coordinates", {"half_pixel", "align_corners", "asymmetric"});
  if (text(call, "method") == "bilinear") expect_float(call, 0);
}

// Checks the output extents against the input's: an empty dimension cannot be resized to a
// non-empty one.
void check_extents(const CallView& call, const Dims& in, const Dims& out) {
  for (size_t d = 0; d < out.size(); ++d) {
    if (provably_less(out[d], 0)) {
      call.error("a dimension of size is negative", "at least 0", to_string(out[d]));
    }
    if (in[d + 2].is_int(0) && provably_less(0, out[d])) {
      call.error("spatial dimension " + std::to_string(d) + " of x is empty", "at least 1 element",
                 "0");
    }
    expect_at_least(call, in[d + 2], simplified(min(out[d], PrimExpr(1))),
                    "spatial dimension " + std::to_string(d) + " of x");
  }
}

relax::Annotation deduce_resize(const CallView& call) {
  expect_ndim(call, 0, 4);
  check_modes(call);
  Known x = known_tensor(call, 0);
  x.ndim = 4;
  std::optional<Dims> size = known_dims(call, 1);
  if (size && size->size() != 2) {
    call.error("size does not have two dimensions", "(height, width)", dims_text(*size));
  }
  if (x.shape && size) {
    check_extents(call, *x.shape, *size);
    x.shape = Dims{(*x.shape)[0], (*x.shape)[1], (*size)[0], (*size)[1]};
  } else {
    x.shape.reset();
  }
  return tensor_result(x);
}

relax::Annotation deduce_upsample(const CallView& call) {
  expect_ndim(call, 0, 4);
  check_modes(call);
  Known x = known_tensor(call, 0);
  x.ndim = 4;
  if (call.integers("scales").empty()) call.error("scales is empty", "2 entries", "()");
  std::vector<int64_t> scales = window_attribute(call, "scales", 2, 1, 1);
  if (x.shape) {
    for (size_t d = 0; d < 2; ++d) {
      PrimExpr& dim = (*x.shape)[d + 2];
      dim = simplified(dim * scales[d]);
    }
  }
  return tensor_result(x);
}

// The position of an output index in the input as a fraction of integers, so that every platform
// picks the same elements.
struct Source {
  PrimExpr numerator, denominator;
};

Source source_of(const CallView& call, const PrimExpr& o, const PrimExpr& in, const PrimExpr& out) {
  const std::string& mode = text(call, "coordinates");
  if (mode == "half_pixel") {
    // Left of the first element's center there is nothing to blend with.
    return {max((o * 2 + 1) * in - out, PrimExpr(0)), max(out * 2, PrimExpr(1))};
  }
  if (mode == "align_corners") return {o * (in - 1), max(out - 1, PrimExpr(1))};
  return {o * in, max(out, PrimExpr(1))};
}

PrimExpr nearest(const CallView& call, const PrimExpr& o, const PrimExpr& in, const PrimExpr& out) {
  const std::string& mode = text(call, "coordinates");
  if (mode == "half_pixel") return floordiv((o * 2 + 1) * in, max(out * 2, PrimExpr(1)));
  Source source = source_of(call, o, in, out);
  if (mode == "asymmetric") return floordiv(source.numerator, source.denominator);
  return floordiv(source.numerator * 2 + source.denominator, source.denominator * 2);
}

tir::PrimFuncRef legalize_to(const CallView& call, const relax::TensorAnnotation& result) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  bool blends = text(call, "method") == "bilinear";
  // A dimension that may be empty may have no elements to read.
  std::vector<PrimExpr> inside;
  for (size_t d : {2, 3}) {
    if (!x->shape[d].is_int()) inside.push_back(lt(0, x->shape[d]));
  }
  lowering.add(tir::compute("resize", out, [&](const std::vector<Var>& i) {
    if (!blends) {
      PrimExpr row = nearest(call, i[2], x->shape[2], out->shape[2]);
      PrimExpr column = nearest(call, i[3], x->shape[3], out->shape[3]);
      PrimExpr zero = x->dtype == DType::kBool ? make_bool(false) : number(0, x->dtype);
      return guarded(inside, tir::load(x, {i[0], i[1], row, column}), zero);
    }
    PrimExpr at[2], next[2], weight[2];
    for (size_t d : {0, 1}) {
      Source source = source_of(call, i[d + 2], x->shape[d + 2], out->shape[d + 2]);
      at[d] = floordiv(source.numerator, source.denominator);
      next[d] = min(at[d] + 1, x->shape[d + 2] - 1);
      weight[d] = fdiv(cast(compute, floormod(source.numerator, source.denominator)),
                       cast(compute, source.denominator));
    }
    auto blend_row = [&](const PrimExpr& row) {
      PrimExpr left = load_wide(x, {i[0], i[1], row, at[1]});
      PrimExpr right = load_wide(x, {i[0], i[1], row, next[1]});
      return left * (number(1, compute) - weight[1]) + right * weight[1];
    };
    PrimExpr value =
        blend_row(at[0]) * (number(1, compute) - weight[0]) + blend_row(next[0]) * weight[0];
    return guarded(inside, cast(out->dtype, value), number(0, out->dtype));
  }));
  return lowering.finish();
}

tir::PrimFuncRef legalize_resize(const CallView& call) {
  return legalize_to(call, known_result(call, deduce_resize(call)));
}

tir::PrimFuncRef legalize_upsample(const CallView& call) {
  return legalize_to(call, known_result(call, deduce_upsample(call)));
}

// ---- random calls

void draw_modes(GeneratedCall& call, RandomStream& rng) {
  static const std::vector<std::string> kCoordinates = {"half_pixel", "align_corners",
                                                        "asymmetric"};
  bool blends = is_float(call.args[0].tensors[0].dtype) && rng.chance(0.6);
  call.attrs["method"] = std::string(blends ? "bilinear" : "nearest");
  call.attrs["coordinates"] = pick(kCoordinates, rng);
}

bool generate_resize(GeneratedCall& call, RandomStream& rng) {
  const std::vector<int64_t> kExtents = {0, 1, 2, 3, 7, 8, 9, 16, 17};
  keep_spatial(call.args[0].tensors[0].shape, 1024);
  draw_modes(call, rng);
  call.args.push_back({{}, {pick(kExtents, rng), pick(kExtents, rng)}});
  return true;
}

bool generate_upsample(GeneratedCall& call, RandomStream& rng) {
  keep_spatial(call.args[0].tensors[0].shape, 512);
  draw_modes(call, rng);
  call.attrs["scales"] = random_entries(2, 1, 3, rng);
  return true;
}

std::vector<AttributeSpec> mode_attributes() {
  return {{"method", AttributeKind::kString, false, std::string("nearest"),
           "\"nearest\": one element; \"bilinear\": the four around, weighted (floats only)"},
          {"coordinates", AttributeKind::kString, false, std::string("half_pixel"),
           "position of output index o in the input: \"half_pixel\": (o + 1/2) * in / out - 1/2, "
           "\"align_corners\": o * (in - 1) / (out - 1), \"asymmetric\": o * in / out"}};
}

}  // namespace

std::span<const OperatorInfo> resize_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    std::vector<AttributeSpec> scaled = mode_attributes();
    scaled.insert(
        scaled.begin(),
        {"scales", AttributeKind::kInts, true, {}, "factors of height and width, at least 1"});
    const ArgumentSpec x = {"x", ArgumentKind::kTensor, "[batch, channels, height, width]"};
    return std::vector<OperatorInfo>{
        {.name = "resize2d",
         .doc =
             "x resized along its spatial dimensions. Positions in the input are exact fractions: "
             "\"nearest\" takes the element at the position rounded down with \"asymmetric\" and "
             "to the nearest (halves up) otherwise; \"bilinear\" blends in f32 (f64 for f64), "
             "positions before the first element or after the last are clamped to these.",
         .args = {x, {"size", ArgumentKind::kShape, "(height, width) of the result"}},
         .attrs = mode_attributes(),
         .inout = {},
         .deduce = deduce_resize,
         .legalize = legalize_resize,
         .reference = reference::resize,
         .generator = {{4}, all_dtypes(), -2, 2, generate_resize}},
        {.name = "upsample2d",
         .doc = "resize2d to the spatial dimensions times whole factors.",
         .args = {x},
         .attrs = scaled,
         .inout = {},
         .deduce = deduce_upsample,
         .legalize = legalize_upsample,
         .reference = reference::resize,
         .generator = {{4}, all_dtypes(), -2, 2, generate_upsample}},
    };
  }();
  return kOperators;
}

}  // namespace tapml::op
