// Pooling over one to three spatial dimensions: windows of a given size, or a given number of
// windows.
#include "op/reference/pooling.h"

#include <algorithm>

#include "op/dtypes.h"
#include "op/families.h"
#include "op/sliding_window.h"

namespace tapml::op {

namespace {

using Index = std::vector<PrimExpr>;

// ---- windows of a given size

struct Pool {
  std::vector<int64_t> kernel;
  SlidingWindow window;
  bool ceil_mode;

  Pool(const CallView& call, size_t rank)
      : kernel(window_attribute(call, "kernel_size", rank, 1, 1)),
        window(call, rank),
        ceil_mode(call.flag("ceil_mode")) {
    if (call.integers("kernel_size").empty()) {
      call.error("kernel_size is empty", std::to_string(rank) + " entries", "()");
    }
    if (call.integers("strides").empty()) window.strides = kernel;
    for (size_t d = 0; d < rank; ++d) {
      int64_t covered = covered_by(d), widest = std::max(window.before[d], window.after[d]);
      if (widest >= covered) {
        call.error("a window would be entirely in the padding",
                   "padding less than the kernel's reach of " + std::to_string(covered),
                   std::to_string(widest));
      }
    }
  }

  int64_t covered_by(size_t d) const { return (kernel[d] - 1) * window.dilation[d] + 1; }

  PrimExpr positions(const CallView& call, size_t d, const PrimExpr& in) const {
    PrimExpr whole = window_positions(call, window, d, in, kernel[d]);
    if (!ceil_mode || window.strides[d] == 1) return whole;
    int64_t stride = window.strides[d];
    PrimExpr rest = in + (window.before[d] + window.after[d] - covered_by(d) + stride - 1);
    // A window that starts after the input and its front padding is skipped.
    PrimExpr started = floordiv(in + (window.before[d] - 1), stride) + 1;
    return simplified(min(floordiv(rest, stride) + 1, started));
  }

  // First element of window `at`, in elements of the unpadded input.
  PrimExpr start(size_t d, const PrimExpr& at) const {
    return at * window.strides[d] - window.before[d];
  }

  // The input's index for (point, tap), and the conditions under which it is inside.
  Index element(const Dims& in, const std::vector<Var>& i, const std::vector<Var>& r,
                std::vector<PrimExpr>& inside) const {
    Index at = {i[0], i[1]};
    for (size_t d = 0; d < kernel.size(); ++d) {
      PrimExpr position = start(d, i[d + 2]) + r[d] * window.dilation[d];
      if (window.before[d] > 0) inside.push_back(le(0, position));
      if (window.after[d] > 0 || ceil_mode) inside.push_back(lt(position, in[d + 2]));
      at.push_back(position);
    }
    return at;
  }

  Dims extents() const { return {kernel.begin(), kernel.end()}; }
};

template <int kSpatial>
relax::Annotation deduce_pool(const CallView& call) {
  expect_ndim(call, 0, kSpatial + 2);
  Known x = known_tensor(call, 0);
  Pool pool(call, kSpatial);
  x.ndim = kSpatial + 2;
  if (x.shape) {
    for (size_t d = 0; d < kSpatial; ++d) {
      (*x.shape)[d + 2] = pool.positions(call, d, (*x.shape)[d + 2]);
    }
  }
  return tensor_result(x);
}

template <int kSpatial>
relax::Annotation deduce_max_pool(const CallView& call) {
  expect_number(call, 0);
  return deduce_pool<kSpatial>(call);
}

template <int kSpatial>
relax::Annotation deduce_avg_pool(const CallView& call) {
  expect_float(call, 0);
  return deduce_pool<kSpatial>(call);
}

template <int kSpatial>
tir::PrimFuncRef legalize_max_pool(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_pool<kSpatial>(call));
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  Pool pool(call, kSpatial);
  lowering.add(tir::reduce("max_pool", out, pool.extents(), lowest(x->dtype), max_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             std::vector<PrimExpr> inside;
                             Index at = pool.element(x->shape, i, r, inside);
                             return guarded(inside, tir::load(x, at), lowest(x->dtype));
                           }));
  return lowering.finish();
}

// Sum of `term` over `extents`, divided by count(point) in the compute type.
void add_average(
    Lowering& lowering, const std::string& name, const tir::Buffer& out, const Dims& extents,
    const std::function<PrimExpr(const std::vector<Var>&, const std::vector<Var>&)>& term,
    const std::function<PrimExpr(const std::vector<Var>&)>& count) {
  DType compute = accumulation_dtype(out->dtype);
  tir::Buffer total = lowering.workspace(name + "_total", out->shape, compute);
  lowering.add(tir::reduce(name, total, extents, number(0, compute), sum_of, term));
  lowering.add(tir::compute(name + "_out", out, [&](const std::vector<Var>& i) {
    PrimExpr size = count(i);
    PrimExpr divisor =
        size.is_int() ? number(static_cast<double>(size->int_value), compute) : cast(compute, size);
    return cast(out->dtype, fdiv(tir::load(total, i), divisor));
  }));
}

template <int kSpatial>
tir::PrimFuncRef legalize_avg_pool(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_pool<kSpatial>(call));
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  DType compute = accumulation_dtype(out->dtype);
  Pool pool(call, kSpatial);
  bool include_pad = call.flag("count_include_pad");
  auto term = [&](const std::vector<Var>& i, const std::vector<Var>& r) {
    std::vector<PrimExpr> inside;
    Index at = pool.element(x->shape, i, r, inside);
    return guarded(inside, load_wide(x, at), number(0, compute));
  };
  auto count = [&](const std::vector<Var>& i) {
    PrimExpr size = 1;
    for (size_t d = 0; d < kSpatial; ++d) {
      PrimExpr begin = pool.start(d, i[d + 2]), end = begin + pool.kernel[d];
      const PrimExpr& in = x->shape[d + 2];
      if (include_pad) {
        if (!pool.ceil_mode) {
          size = size * pool.kernel[d];
          continue;
        }
        end = min(end, in + pool.window.after[d]);
      } else {
        if (pool.window.before[d] > 0) begin = max(begin, PrimExpr(0));
        if (pool.window.after[d] > 0 || pool.ceil_mode) end = min(end, in);
      }
      size = size * simplified(end - begin);
    }
    return size;
  };
  add_average(lowering, "avg_pool", out, pool.extents(), term, count);
  return lowering.finish();
}

// ---- a given number of windows

// Windows of adaptive pooling along one dimension: window o is [o * in // out, ceil((o + 1) * in /
// out)).
struct Division {
  PrimExpr in;
  int64_t out;

  bool is_even() const { return provably_equal(floormod(in, out), 0); }
  PrimExpr longest() const {
    return simplified(is_even() ? floordiv(in, out) : ceil_div(in, out) + 1);
  }
  PrimExpr begin(const PrimExpr& o) const {
    return is_even() ? o * simplified(floordiv(in, out)) : floordiv(o * in, out);
  }
  PrimExpr end(const PrimExpr& o) const { return ceil_div((o + 1) * in, out); }
  PrimExpr size(const PrimExpr& o) const { return is_even() ? longest() : end(o) - begin(o); }
};

template <int kSpatial>
relax::Annotation deduce_adaptive(const CallView& call) {
  expect_ndim(call, 0, kSpatial + 2);
  Known x = known_tensor(call, 0);
  x.ndim = kSpatial + 2;
  if (call.integers("output_size").empty()) {
    call.error("output_size is empty", std::to_string(kSpatial) + " entries", "()");
  }
  std::vector<int64_t> size = window_attribute(call, "output_size", kSpatial, 1, 1);
  if (x.shape) {
    for (size_t d = 0; d < kSpatial; ++d) {
      if ((*x.shape)[d + 2].is_int(0)) {
        call.error("spatial dimension " + std::to_string(d) + " is empty", "at least 1 element",
                   "0");
      }
      expect_at_least(call, (*x.shape)[d + 2], 1, "spatial dimension " + std::to_string(d));
      (*x.shape)[d + 2] = size[d];
    }
  }
  return tensor_result(x);
}

template <int kSpatial>
relax::Annotation deduce_adaptive_max(const CallView& call) {
  expect_number(call, 0);
  return deduce_adaptive<kSpatial>(call);
}

template <int kSpatial>
relax::Annotation deduce_adaptive_avg(const CallView& call) {
  expect_float(call, 0);
  return deduce_adaptive<kSpatial>(call);
}

template <int kSpatial, bool kAverage>
tir::PrimFuncRef legalize_adaptive(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_adaptive<kSpatial>(call));
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  std::vector<Division> divisions;
  Dims extents;
  for (size_t d = 0; d < kSpatial; ++d) {
    divisions.push_back({x->shape[d + 2], call.integers("output_size")[d]});
    extents.push_back(divisions[d].longest());
  }
  DType compute = kAverage ? accumulation_dtype(x->dtype) : x->dtype;
  PrimExpr outside = kAverage ? number(0, compute) : lowest(compute);
  auto term = [&](const std::vector<Var>& i, const std::vector<Var>& r) {
    Index at = {i[0], i[1]};
    std::vector<PrimExpr> inside;
    for (size_t d = 0; d < kSpatial; ++d) {
      at.push_back(divisions[d].begin(i[d + 2]) + r[d]);
      if (!divisions[d].is_even()) inside.push_back(lt(at.back(), divisions[d].end(i[d + 2])));
    }
    return guarded(inside, cast(compute, tir::load(x, at)), outside);
  };
  if constexpr (kAverage) {
    add_average(lowering, "adaptive_avg_pool", out, extents, term, [&](const std::vector<Var>& i) {
      PrimExpr size = 1;
      for (size_t d = 0; d < kSpatial; ++d) size = size * divisions[d].size(i[d + 2]);
      return size;
    });
  } else {
    lowering.add(tir::reduce("adaptive_max_pool", out, extents, outside, max_of, term));
  }
  return lowering.finish();
}

// ---- random calls

template <bool kMax>
bool generate_pool(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& x = call.args[0].tensors[0];
  size_t spatial = x.shape.size() - 2;
  keep_spatial(x.shape, 2048);
  std::vector<int64_t> kernel, dilation;
  bool sides = rng.chance(0.3);
  std::vector<int64_t> padding(sides ? 2 * spatial : spatial);
  for (size_t d = 0; d < spatial; ++d) {
    dilation.push_back(kMax ? rng.between(1, 2) : 1);
    kernel.push_back(rng.between(1, std::min<int64_t>(3, (x.shape[d + 2] - 1) / dilation[d] + 1)));
    int64_t covered = (kernel[d] - 1) * dilation[d] + 1;
    padding[d] = rng.between(0, covered / 2);
    if (sides) padding[d + spatial] = rng.between(0, covered / 2);
  }
  call.attrs = {{"kernel_size", kernel}, {"padding", padding}, {"ceil_mode", rng.chance(0.4)}};
  if (rng.chance(0.7)) call.attrs["strides"] = random_entries(spatial, 1, 3, rng);
  if (kMax) call.attrs["dilation"] = dilation;
  if (!kMax && rng.chance(0.5)) call.attrs["count_include_pad"] = false;
  return true;
}

bool generate_adaptive(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& x = call.args[0].tensors[0];
  keep_spatial(x.shape, 2048);
  call.attrs["output_size"] = random_entries(x.shape.size() - 2, 1, 4, rng);
  return true;
}

std::vector<AttributeSpec> pool_attributes() {
  return {
      {"kernel_size", AttributeKind::kInts, true, {}, "window's extent, one entry per dimension"},
      strides_attribute("step of the window in each spatial dimension; empty: kernel_size"),
      padding_attribute(),
      {"ceil_mode", AttributeKind::kBool, false, false,
       "a last window that extends past the end counts too"}};
}

OperatorInfo max_pool(const char* name, int spatial, DeduceRule deduce, LegalizeRule legalize) {
  std::vector<AttributeSpec> attrs = pool_attributes();
  attrs.push_back(dilation_attribute());
  return {.name = name,
          .doc =
              "Largest element of each window over the spatial dimensions; padding is never "
              "taken, NaN wins. An output dimension is (in + padding - dilation * (kernel - 1) "
              "- 1) // stride + 1, with ceil_mode rounded up where the last window starts "
              "inside. Padding is less than the window's reach.",
          .args = {{"x", ArgumentKind::kTensor, "[batch, channels, spatial...]"}},
          .attrs = attrs,
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference::max_pool,
          .generator = {{spatial + 2}, number_dtypes(), -9, 9, generate_pool<true>}};
}

OperatorInfo avg_pool(const char* name, int spatial, DeduceRule deduce, LegalizeRule legalize) {
  std::vector<AttributeSpec> attrs = pool_attributes();
  attrs.push_back({"count_include_pad", AttributeKind::kBool, false, true,
                   "padding counts as zeros; else only elements of x count"});
  return {
      .name = name,
      .doc =
          "Mean of each window over the spatial dimensions, computed in f32 (f64 for f64); "
          "windows as for max pooling. Elements that ceil_mode adds after the padding never count.",
      .args = {{"x", ArgumentKind::kTensor, "[batch, channels, spatial...], float"}},
      .attrs = attrs,
      .inout = {},
      .deduce = deduce,
      .legalize = legalize,
      .reference = reference::avg_pool,
      .generator = {{spatial + 2}, float_dtypes(), -2, 2, generate_pool<false>}};
}

OperatorInfo adaptive(const char* name, bool average, int spatial, DeduceRule deduce,
                      LegalizeRule legalize) {
  return {.name = name,
          .doc = average ? "Mean over windows that divide the spatial dimensions into output_size "
                           "parts: window o is [o * in // out, ceil((o + 1) * in / out))."
                         : "Largest element of windows that divide the spatial dimensions into "
                           "output_size parts: window o is [o * in // out, ceil((o + 1) * in / "
                           "out)); NaN wins.",
          .args = {{"x", ArgumentKind::kTensor, "[batch, channels, spatial...]"}},
          .attrs = {{"output_size",
                     AttributeKind::kInts,
                     true,
                     {},
                     "number of windows in each spatial dimension, at least 1"}},
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = average ? reference::adaptive_avg_pool : reference::adaptive_max_pool,
          .generator = {
              {spatial + 2}, average ? float_dtypes() : number_dtypes(), -2, 2, generate_adaptive}};
}

}  // namespace

std::span<const OperatorInfo> pooling_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      max_pool("max_pool1d", 1, deduce_max_pool<1>, legalize_max_pool<1>),
      max_pool("max_pool2d", 2, deduce_max_pool<2>, legalize_max_pool<2>),
      max_pool("max_pool3d", 3, deduce_max_pool<3>, legalize_max_pool<3>),
      avg_pool("avg_pool1d", 1, deduce_avg_pool<1>, legalize_avg_pool<1>),
      avg_pool("avg_pool2d", 2, deduce_avg_pool<2>, legalize_avg_pool<2>),
      avg_pool("avg_pool3d", 3, deduce_avg_pool<3>, legalize_avg_pool<3>),
      adaptive("adaptive_avg_pool1d", true, 1, deduce_adaptive_avg<1>, legalize_adaptive<1, true>),
      adaptive("adaptive_avg_pool2d", true, 2, deduce_adaptive_avg<2>, legalize_adaptive<2, true>),
      adaptive("adaptive_avg_pool3d", true, 3, deduce_adaptive_avg<3>, legalize_adaptive<3, true>),
      adaptive("adaptive_max_pool1d", false, 1, deduce_adaptive_max<1>,
               legalize_adaptive<1, false>),
      adaptive("adaptive_max_pool2d", false, 2, deduce_adaptive_max<2>,
               legalize_adaptive<2, false>),
      adaptive("adaptive_max_pool3d", false, 3, deduce_adaptive_max<3>,
               legalize_adaptive<3, false>),
  };
  return kOperators;
}

}  // namespace tapml::op
