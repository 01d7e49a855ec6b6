// Convolutions over one to three spatial dimensions, and their transposes.
#include "op/reference/convolution.h"

#include <algorithm>

#include "op/dtypes.h"
#include "op/families.h"
#include "op/sliding_window.h"

namespace tapml::op {

namespace {

using Index = std::vector<PrimExpr>;

int64_t group_count(const CallView& call) {
  int64_t groups = call.integer("groups");
  if (groups < 1) call.error("groups is not positive", "at least 1", std::to_string(groups));
  return groups;
}

// `channels` / groups; UserError unless it divides.
PrimExpr per_group(const CallView& call, const PrimExpr& channels, int64_t groups,
                   const char* what) {
  return expect_multiple(call, channels, groups,
                         std::string(what) + " are not divisible by groups");
}

// Checks ranks and dtypes of x and weight; checks shapes only if both are known.
Known checked_operands(const CallView& call, int spatial) {
  for (size_t i : {0, 1}) {
    expect_ndim(call, i, spatial + 2);
    expect_number(call, i);
  }
  Known x = known_tensor(call, 0), weight = known_tensor(call, 1);
  Known result;
  result.ndim = spatial + 2;
  if (x.dtype && weight.dtype) result.dtype = promoted(call, *x.dtype, *weight.dtype);
  return result;
}

template <int kSpatial>
relax::Annotation deduce_conv(const CallView& call) {
  Known result = checked_operands(call, kSpatial);
  Known x = known_tensor(call, 0), weight = known_tensor(call, 1);
  SlidingWindow window(call, kSpatial);
  int64_t groups = group_count(call);
  if (weight.shape) per_group(call, (*weight.shape)[0], groups, "filters");
  if (x.shape) per_group(call, (*x.shape)[1], groups, "channels of x");
  if (!x.shape || !weight.shape) return tensor_result(result);
  expect_same_dim(call, (*x.shape)[1], simplified((*weight.shape)[1] * groups),
                  "x.1 and weight.1 * groups");
  result.shape = {(*x.shape)[0], (*weight.shape)[0]};
  for (size_t d = 0; d < kSpatial; ++d) {
    result.shape->push_back(
        window_positions(call, window, d, (*x.shape)[d + 2], (*weight.shape)[d + 2]));
  }
  return tensor_result(result);
}

template <int kSpatial>
tir::PrimFuncRef legalize_conv(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_conv<kSpatial>(call));
  const tir::Buffer &x = lowering.arg(0), &weight = lowering.arg(1);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  DType compute = accumulation_dtype(out->dtype);
  SlidingWindow window(call, kSpatial);
  int64_t groups = group_count(call);
  PrimExpr filters = simplified(floordiv(out->shape[1], groups));
  auto term = [&](const std::vector<Var>& i, const std::vector<Var>& r) {
    PrimExpr channel = r[0];
    if (groups > 1) channel = floordiv(i[1], filters) * weight->shape[1] + r[0];
    Index at = {i[0], channel}, tap = {i[1], r[0]};
    std::vector<PrimExpr> inside;
    for (size_t d = 0; d < kSpatial; ++d) {
      PrimExpr position =
          i[d + 2] * window.strides[d] + r[d + 1] * window.dilation[d] - window.before[d];
      if (window.before[d] > 0) inside.push_back(le(0, position));
      if (window.after[d] > 0) inside.push_back(lt(position, x->shape[d + 2]));
      at.push_back(position);
      tap.push_back(r[d + 1]);
    }
    PrimExpr value = guarded(inside, cast(compute, tir::load(x, at)), number(0, compute));
    return value * cast(compute, tir::load(weight, tap));
  };
  Dims extents(weight->shape.begin() + 1, weight->shape.end());
  add_reduction(lowering, "conv", out, compute, extents, number(0, compute), sum_of, term);
  return lowering.finish();
}

// ---- transposed

template <int kSpatial>
relax::Annotation deduce_transposed(const CallView& call) {
  Known result = checked_operands(call, kSpatial);
  Known x = known_tensor(call, 0), weight = known_tensor(call, 1);
  SlidingWindow window(call, kSpatial);
  int64_t groups = group_count(call);
  std::vector<int64_t> extra = window_attribute(call, "output_padding", kSpatial, 0, 0);
  for (size_t d = 0; d < kSpatial; ++d) {
    int64_t step = std::max(window.strides[d], window.dilation[d]);
    if (extra[d] >= step) {
      call.error("output_padding is not smaller than stride or dilation",
                 "less than " + std::to_string(step), std::to_string(extra[d]));
    }
  }
  if (x.shape) per_group(call, (*x.shape)[1], groups, "channels of x");
  if (!x.shape || !weight.shape) return tensor_result(result);
  expect_same_dim(call, (*x.shape)[1], (*weight.shape)[0], "x.1 and weight.0");
  result.shape = {(*x.shape)[0], simplified((*weight.shape)[1] * groups)};
  for (size_t d = 0; d < kSpatial; ++d) {
    const PrimExpr &in = (*x.shape)[d + 2], &kernel = (*weight.shape)[d + 2];
    if (provably_less(kernel, 1)) {
      call.error("the kernel is empty", "kernel dimensions of at least 1", to_string(kernel));
    }
    expect_at_least(call, kernel, 1, "kernel dimension " + std::to_string(d));
    PrimExpr whole = (in - 1) * window.strides[d] + reach(kernel, window.dilation[d]) + extra[d];
    PrimExpr extent = simplified(whole - (window.before[d] + window.after[d]));
    if (provably_less(extent, 0)) {
      call.error("padding removes more elements than there are along spatial dimension " +
                     std::to_string(d),
                 "an output of at least 0", to_string(extent));
    }
    result.shape->push_back(extent);
  }
  return tensor_result(result);
}

template <int kSpatial>
tir::PrimFuncRef legalize_transposed(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_transposed<kSpatial>(call));
  const tir::Buffer &x = lowering.arg(0), &weight = lowering.arg(1);
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  DType compute = accumulation_dtype(out->dtype);
  SlidingWindow window(call, kSpatial);
  int64_t groups = group_count(call);
  const PrimExpr& filters = weight->shape[1];
  PrimExpr channels = simplified(floordiv(x->shape[1], groups));
  // Each output element gathers the input elements whose windows cover it.
  auto term = [&](const std::vector<Var>& i, const std::vector<Var>& r) {
    PrimExpr channel = r[0], filter = i[1];
    if (groups > 1) {
      channel = floordiv(i[1], filters) * channels + r[0];
      filter = floormod(i[1], filters);
    }
    Index at = {i[0], channel}, tap = {channel, filter};
    std::vector<PrimExpr> inside;
    for (size_t d = 0; d < kSpatial; ++d) {
      PrimExpr position = i[d + 2] + window.before[d] - r[d + 1] * window.dilation[d];
      PrimExpr source = floordiv(position, window.strides[d]);
      if (window.strides[d] > 1) inside.push_back(eq(floormod(position, window.strides[d]), 0));
      inside.push_back(le(0, source));
      inside.push_back(lt(source, x->shape[d + 2]));
      at.push_back(source);
      tap.push_back(r[d + 1]);
    }
    PrimExpr value = guarded(inside, cast(compute, tir::load(x, at)), number(0, compute));
    return value * cast(compute, tir::load(weight, tap));
  };
  Dims extents = {channels};
  extents.insert(extents.end(), weight->shape.begin() + 2, weight->shape.end());
  add_reduction(lowering, "conv_transpose", out, compute, extents, number(0, compute), sum_of,
                term);
  return lowering.finish();
}

// ---- random calls

bool generate_conv(GeneratedCall& call, RandomStream& rng) {
  const std::vector<int64_t> kFilters = {0, 1, 2, 3, 16, 17};
  GeneratedTensor& x = call.args[0].tensors[0];
  size_t spatial = x.shape.size() - 2;
  keep_spatial(x.shape, 512);
  int64_t groups = 1;
  if (x.shape[1] > 1 && rng.chance(0.4)) {
    groups = x.shape[1] % 2 == 0 && rng.chance(0.5) ? 2 : x.shape[1];
  }
  std::vector<int64_t> strides = random_entries(spatial, 1, 2, rng);
  std::vector<int64_t> dilation = random_entries(spatial, 1, 2, rng);
  bool sides = rng.chance(0.3);
  std::vector<int64_t> padding = random_entries(sides ? 2 * spatial : spatial, 0, 2, rng);
  Shape weight = {groups > 1 ? groups * rng.between(1, 2) : pick(kFilters, rng),
                  x.shape[1] / groups};
  for (size_t d = 0; d < spatial; ++d) {
    int64_t padded = x.shape[d + 2] + padding[d] + padding[sides ? d + spatial : d];
    weight.push_back(std::min<int64_t>(rng.between(1, 3), (padded - 1) / dilation[d] + 1));
  }
  GeneratedTensor w = x;
  w.shape = weight;
  call.args.push_back({{w}, {}});
  call.attrs = {{"padding", padding}, {"groups", groups}};
  if (rng.chance(0.7)) call.attrs["strides"] = strides;
  // The kernel's extent was drawn for this dilation.
  call.attrs["dilation"] = dilation;
  return true;
}

bool generate_transposed(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& x = call.args[0].tensors[0];
  size_t spatial = x.shape.size() - 2;
  keep_spatial(x.shape, 256);
  int64_t groups = x.shape[1] > 1 && x.shape[1] % 2 == 0 && rng.chance(0.4) ? 2 : 1;
  std::vector<int64_t> strides = random_entries(spatial, 1, 3, rng);
  std::vector<int64_t> dilation = random_entries(spatial, 1, 2, rng);
  std::vector<int64_t> padding(spatial), extra(spatial);
  Shape weight = {x.shape[1], rng.between(0, 4)};
  for (size_t d = 0; d < spatial; ++d) {
    weight.push_back(rng.between(1, 3));
    int64_t whole = (x.shape[d + 2] - 1) * strides[d] + (weight[d + 2] - 1) * dilation[d] + 1;
    padding[d] = std::min<int64_t>(rng.between(0, 2), whole / 2);
    extra[d] = rng.between(0, std::max(strides[d], dilation[d]) - 1);
  }
  GeneratedTensor w = x;
  w.shape = weight;
  call.args.push_back({{w}, {}});
  call.attrs = {{"strides", strides},
                {"padding", padding},
                {"dilation", dilation},
                {"groups", groups},
                {"output_padding", extra}};
  return true;
}

OperatorInfo conv(const char* name, int spatial, DeduceRule deduce, LegalizeRule legalize) {
  return {.name = name,
          .doc =
              "Convolution (cross-correlation) over the trailing spatial dimensions: windows of "
              "the zero-padded x times each filter, summed over the channels of the filter's "
              "group. An output dimension is (in + padding - dilation * (kernel - 1) - 1) // "
              "stride + 1. Floats may differ in dtype and accumulate in f32 (f64 where an "
              "operand is f64); integers are of one dtype and wrap.",
          .args = {{"x", ArgumentKind::kTensor, "[batch, channels, spatial...]"},
                   {"weight", ArgumentKind::kTensor, "[filters, channels / groups, kernel...]"}},
          .attrs = {strides_attribute("step of the window in each spatial dimension; empty: 1"),
                    padding_attribute(),
                    dilation_attribute(),
                    {"groups", AttributeKind::kInt, false, int64_t{1},
                     "groups of channels and filters, each convolved separately"}},
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference::convolution,
          .generator = {{spatial + 2}, number_dtypes(), -2, 2, generate_conv}};
}

OperatorInfo transposed(const char* name, int spatial, DeduceRule deduce, LegalizeRule legalize) {
  return {.name = name,
          .doc =
              "Transposed convolution: each element of x adds its multiple of the filter to the "
              "output, `strides` apart; padding takes elements away from the output's ends. An "
              "output dimension is (in - 1) * stride + dilation * (kernel - 1) + 1 + "
              "output_padding - padding. Dtypes as for convolution.",
          .args = {{"x", ArgumentKind::kTensor, "[batch, channels, spatial...]"},
                   {"weight", ArgumentKind::kTensor, "[channels, filters / groups, kernel...]"}},
          .attrs = {strides_attribute("distance of neighboring elements of x in the output; "
                                      "empty: 1"),
                    padding_attribute(),
                    dilation_attribute(),
                    {"groups", AttributeKind::kInt, false, int64_t{1},
                     "groups of channels and filters, each convolved separately"},
                    {"output_padding", AttributeKind::kInts, false, std::vector<int64_t>(),
                     "elements added at the output's end, less than stride or dilation; empty: "
                     "none"}},
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference::transposed_convolution,
          .generator = {{spatial + 2}, number_dtypes(), -2, 2, generate_transposed}};
}

}  // namespace

std::span<const OperatorInfo> convolution_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      conv("conv1d", 1, deduce_conv<1>, legalize_conv<1>),
      conv("conv2d", 2, deduce_conv<2>, legalize_conv<2>),
      conv("conv3d", 3, deduce_conv<3>, legalize_conv<3>),
      transposed("conv1d_transpose", 1, deduce_transposed<1>, legalize_transposed<1>),
      transposed("conv2d_transpose", 2, deduce_transposed<2>, legalize_transposed<2>),
      transposed("conv3d_transpose", 3, deduce_transposed<3>, legalize_transposed<3>),
  };
  return kOperators;
}

}  // namespace tapml::op
