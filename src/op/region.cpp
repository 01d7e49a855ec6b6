// Operators that extract a region of a tensor, update one, or pad the tensor.
#include <algorithm>
#include <numeric>

#include "op/dtypes.h"
#include "op/families.h"
#include "op/indices.h"
#include "op/lowering.h"
#include "op/reference/arrange.h"

namespace tapml::op {

namespace {

using Index = std::vector<PrimExpr>;
using Ints = std::vector<int64_t>;

// ---- strided_slice

// Bounds with NumPy semantics: negative ones count from the end, then both are clamped.
struct StridedPlan {
  std::vector<int64_t> axes, strides;
  Dims begin, extent;

  StridedPlan(const CallView& call, const Dims& shape, const Dims& first, const Dims& last) {
    int rank = static_cast<int>(shape.size());
    axes = axes_of(call, rank);
    strides = strides_of(call, axes.size());
    expect_count(call, first.size(), "begin");
    expect_count(call, last.size(), "end");
    for (size_t a = 0; a < axes.size(); ++a) {
      const PrimExpr& dim = shape[axes[a]];
      int64_t stride = strides[a];
      PrimExpr from = clamped(first[a], dim, stride);
      PrimExpr to = clamped(last[a], dim, stride);
      PrimExpr length = stride > 0 ? to - from : from - to;
      int64_t step = std::abs(stride);
      begin.push_back(simplified(from));
      extent.push_back(simplified(max(0, ceil_div(length, step))));
    }
  }

  static std::vector<int64_t> axes_of(const CallView& call, int rank) {
    std::vector<int64_t> axes;
    for (int64_t axis : call.integers("axes")) axes.push_back(normalized_axis(call, axis, rank));
    if (axes.empty()) {
      axes.resize(static_cast<size_t>(rank));
      std::iota(axes.begin(), axes.end(), 0);
    }
    std::vector<int64_t> sorted = axes;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      call.error("an axis is given twice", "distinct axes", shape_to_string(axes));
    }
    return axes;
  }

  static std::vector<int64_t> strides_of(const CallView& call, size_t count) {
    std::vector<int64_t> strides = call.integers("strides");
    if (strides.empty()) strides.assign(count, 1);
    if (strides.size() != count) {
      call.error("strides does not have one entry per axis", std::to_string(count),
                 std::to_string(strides.size()));
    }
    for (int64_t stride : strides) {
      if (stride == 0 || stride < -kFar || stride > kFar) {
        call.error("a stride is out of range", "positive or negative strides",
                   std::to_string(stride));
      }
    }
    return strides;
  }

 private:
  // Beyond every dimension, and far from overflow.
  static constexpr int64_t kFar = int64_t{1} << 40;

  void expect_count(const CallView& call, size_t count, const char* what) const {
    if (count == axes.size()) return;
    call.error(std::string(what) + " does not have one entry per axis", std::to_string(axes.size()),
               std::to_string(count));
  }

  static PrimExpr clamped(PrimExpr bound, const PrimExpr& dim, int64_t stride) {
    if (bound.is_int()) bound = std::clamp(bound->int_value, -kFar, kFar);
    PrimExpr least = stride > 0 ? 0 : -1, most = stride > 0 ? dim : dim - 1;
    if (provably_less(bound, 0)) return max(bound + dim, least);
    if (provably_less(-1, bound)) return min(bound, most);
    return select(lt(bound, 0), max(bound + dim, least), min(bound, most));
  }
};

relax::Annotation deduce_strided_slice(const CallView& call) {
  Known x = known_tensor(call, 0);
  if (x.ndim == relax::kUnknownNdim) return tensor_result(x);
  StridedPlan::strides_of(call, StridedPlan::axes_of(call, x.ndim).size());
  std::optional<Dims> begin = known_dims(call, 1), end = known_dims(call, 2);
  if (x.shape && begin && end) {
    StridedPlan plan(call, *x.shape, *begin, *end);
    for (size_t a = 0; a < plan.axes.size(); ++a) (*x.shape)[plan.axes[a]] = plan.extent[a];
  } else {
    x.shape.reset();
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_strided_slice(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_strided_slice(call));
  const tir::Buffer& x = lowering.arg(0);
  StridedPlan plan(call, x->shape, call.shape_argument(1), call.shape_argument(2));
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  lowering.add(tir::compute("strided_slice", out, [&](const std::vector<Var>& i) {
    Index index(i.begin(), i.end());
    for (size_t a = 0; a < plan.axes.size(); ++a) {
      PrimExpr& at = index[plan.axes[a]];
      at = plan.begin[a] + at * plan.strides[a];
    }
    return tir::load(x, index);
  }));
  return lowering.finish();
}

bool generate_strided_slice(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  auto rank = static_cast<int64_t>(shape.size());
  Ints axes, begin, end, strides;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (rng.chance(0.3) && axis + 1 < rank) continue;
    int64_t extent = shape[static_cast<size_t>(axis)];
    axes.push_back(rng.chance(0.5) ? axis : axis - rank);
    strides.push_back(pick<int64_t>({1, 1, 2, 3, -1, -2, -3}, rng));
    int64_t low = rng.between(-extent - 2, extent + 2), high = rng.between(-extent - 2, extent + 2);
    if (rng.chance(0.3)) (strides.back() > 0 ? low : high) = -extent - 1;
    begin.push_back(low);
    end.push_back(high);
  }
  call.args.push_back({{}, begin});
  call.args.push_back({{}, end});
  call.attrs["axes"] = axes;
  call.attrs["strides"] = strides;
  return true;
}

// ---- dynamic_slice and dynamic_update_slice

void check_starts(const CallView& call, size_t argument, int ndim) {
  expect_ndim(call, argument, 1);
  expect_index_dtype(call, argument);
  Known starts = known_tensor(call, argument);
  if (starts.shape && ndim != relax::kUnknownNdim) {
    expect_same_dim(call, starts.shape->front(), ndim, "starts.0 and the rank of x");
  }
}

// The start of the region, clamped so that the region is inside.
PrimExpr region_start(const tir::Buffer& starts, size_t d, const PrimExpr& dim,
                      const PrimExpr& size) {
  PrimExpr start = load_index(starts, {static_cast<int64_t>(d)});
  return max(0, min(start, simplified(dim - size)));
}

relax::Annotation deduce_dynamic_slice(const CallView& call) {
  Known x = known_tensor(call, 0);
  check_starts(call, 1, x.ndim);
  std::optional<Dims> sizes = known_dims(call, 2);
  if (sizes && x.ndim != relax::kUnknownNdim && sizes->size() != static_cast<size_t>(x.ndim)) {
    call.error("sizes does not have one entry per axis", std::to_string(x.ndim),
               std::to_string(sizes->size()));
  }
  if (sizes && x.shape) {
    for (size_t d = 0; d < sizes->size(); ++d) {
      std::string index = std::to_string(d);
      if (provably_less((*sizes)[d], 0)) {
        call.error("a size is negative", "sizes of at least 0", dims_text(*sizes));
      }
      expect_at_most(call, (*sizes)[d], (*x.shape)[d], "sizes." + index + " and x." + index);
    }
  }
  return tensor_result({sizes, x.ndim, x.dtype});
}

tir::PrimFuncRef legalize_dynamic_slice(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_dynamic_slice(call));
  const tir::Buffer &x = lowering.arg(0), &starts = lowering.arg(1);
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  lowering.add(tir::compute("dynamic_slice", out, [&](const std::vector<Var>& i) {
    Index index;
    for (size_t d = 0; d < i.size(); ++d) {
      index.push_back(region_start(starts, d, x->shape[d], out->shape[d]) + i[d]);
    }
    return tir::load(x, index);
  }));
  return lowering.finish();
}

GeneratedArg random_starts(const Shape& shape, RandomStream& rng) {
  DType dtype = rng.chance(0.5) ? DType::kI32 : DType::kI64;
  return {{{dtype, {static_cast<int64_t>(shape.size())}, -3, 12}}, {}};
}

bool generate_dynamic_slice(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  Ints sizes;
  for (int64_t dim : shape) sizes.push_back(rng.chance(0.4) ? dim : rng.between(0, dim));
  GeneratedArg starts = random_starts(shape, rng);
  call.args.push_back(starts);
  call.args.push_back({{}, sizes});
  return true;
}

relax::Annotation deduce_dynamic_update_slice(const CallView& call) {
  Known x = known_tensor(call, 0), update = known_tensor(call, 1);
  check_starts(call, 2, x.ndim);
  if (x.dtype && update.dtype && *x.dtype != *update.dtype) {
    call.error("the update has a different dtype than x", dtype_name(*x.dtype),
               dtype_name(*update.dtype));
  }
  if (x.ndim != relax::kUnknownNdim) expect_ndim(call, 1, x.ndim);
  if (x.shape && update.shape) {
    for (size_t d = 0; d < x.shape->size(); ++d) {
      std::string index = std::to_string(d);
      expect_at_most(call, (*update.shape)[d], (*x.shape)[d],
                     "update." + index + " and x." + index);
    }
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_dynamic_update_slice(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer &x = lowering.arg(0), &update = lowering.arg(1), &starts = lowering.arg(2);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  lowering.add(tir::compute("dynamic_update_slice", out, [&](const std::vector<Var>& i) {
    Index inside;
    PrimExpr covered = make_bool(true);
    for (size_t d = 0; d < i.size(); ++d) {
      PrimExpr at = i[d] - region_start(starts, d, x->shape[d], update->shape[d]);
      covered = logical_and(covered, logical_and(le(0, at), lt(at, update->shape[d])));
      inside.push_back(at);
    }
    Index own(i.begin(), i.end());
    return select(covered, tir::load(update, inside), tir::load(x, own));
  }));
  return lowering.finish();
}

bool generate_dynamic_update_slice(GeneratedCall& call, RandomStream& rng) {
  keep_moderate(call.args[0].tensors[0].shape, 4096);
  GeneratedTensor update = call.args[0].tensors[0];
  GeneratedArg starts = random_starts(update.shape, rng);
  for (int64_t& dim : update.shape) {
    if (rng.chance(0.6)) dim = rng.between(0, dim);
  }
  call.args.push_back({{update}, {}});
  call.args.push_back(starts);
  return true;
}

// ---- pad

enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kCircular };

PadMode pad_mode(const CallView& call) {
  const std::string& mode = *find_attr<std::string>(call.attrs, "mode");
  if (mode == "constant") return PadMode::kConstant;
  if (mode == "edge") return PadMode::kEdge;
  if (mode == "reflect") return PadMode::kReflect;
  if (mode == "circular") return PadMode::kCircular;
  call.error("no padding mode is called '" + mode + "'", "constant, edge, reflect or circular",
             mode);
}

const Ints& pad_widths(const CallView& call, int ndim) {
  const Ints& widths = call.integers("widths");
  if (ndim != relax::kUnknownNdim && widths.size() != 2 * static_cast<size_t>(ndim)) {
    call.error("widths does not have two entries per axis", std::to_string(2 * ndim),
               std::to_string(widths.size()));
  }
  for (int64_t width : widths) {
    if (width < 0) {
      call.error("a width is negative", "widths of at least 0", shape_to_string(widths));
    }
  }
  return widths;
}

relax::Annotation deduce_pad(const CallView& call) {
  Known x = known_tensor(call, 0);
  pad_mode(call);
  const Ints& widths = pad_widths(call, x.ndim);
  if (x.shape) {
    for (size_t d = 0; d < x.shape->size(); ++d) {
      PrimExpr& dim = (*x.shape)[d];
      dim = simplified(dim + widths[2 * d] + widths[2 * d + 1]);
    }
  }
  return tensor_result(x);
}

// Index into an axis of extent `dim` >= 1 for position `at`, which may be out of range.
PrimExpr source_index(PadMode mode, const PrimExpr& at, const PrimExpr& dim) {
  switch (mode) {
    case PadMode::kEdge:
      return max(0, min(at, dim - 1));
    case PadMode::kCircular:
      return floormod(at, max(dim, 1));
    case PadMode::kReflect: {
      PrimExpr period = simplified(max((dim - 1) * 2, 1));
      PrimExpr phase = floormod(at, period);
      return min(phase, period - phase);
    }
    case PadMode::kConstant:
      break;
  }
  return at;
}

tir::PrimFuncRef legalize_pad(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_pad(call));
  const tir::Buffer& x = lowering.arg(0);
  PadMode mode = pad_mode(call);
  const Ints& widths = pad_widths(call, static_cast<int>(x->shape.size()));
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  lowering.add(tir::compute("pad", out, [&](const std::vector<Var>& i) {
    Index index(i.begin(), i.end());
    PrimExpr covered = make_bool(true);
    for (size_t d = 0; d < i.size(); ++d) {
      if (widths[2 * d] == 0 && widths[2 * d + 1] == 0) continue;
      const PrimExpr& dim = x->shape[d];
      PrimExpr at = i[d] - widths[2 * d];
      index[d] = source_index(mode, at, dim);
      if (mode == PadMode::kConstant) {
        covered = logical_and(covered, logical_and(le(0, at), lt(at, dim)));
      } else if (!provably_less(0, dim)) {
        covered = logical_and(covered, lt(0, dim));
      }
    }
    return select(covered, tir::load(x, index), number(call.number("value"), x->dtype));
  }));
  return lowering.finish();
}

bool generate_pad(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 512);
  Ints widths;
  for (size_t d = 0; d < 2 * shape.size(); ++d) {
    widths.push_back(shape.size() > 2 && rng.chance(0.5) ? 0 : rng.between(0, 4));
  }
  call.attrs["widths"] = widths;
  call.attrs["mode"] = pick<std::string>({"constant", "edge", "reflect", "circular"}, rng);
  if (rng.chance(0.5)) call.attrs["value"] = 3.0;
  return true;
}

// ---- depth_to_space and space_to_depth

int64_t block_of(const CallView& call) {
  int64_t block = call.integer("block");
  if (block < 1 || block > 1 << 15) {
    call.error("the block is out of range", "at least 1", std::to_string(block));
  }
  return block;
}

relax::Annotation deduce_depth_to_space(const CallView& call) {
  expect_ndim(call, 0, 4);
  Known x = known_tensor(call, 0);
  int64_t block = block_of(call);
  x.ndim = 4;
  if (x.shape) {
    Dims& dims = *x.shape;
    dims[1] = expect_multiple(call, dims[1], block * block, "x.1 does not divide into blocks");
    dims[2] = simplified(dims[2] * block);
    dims[3] = simplified(dims[3] * block);
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_depth_to_space(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_depth_to_space(call));
  const tir::Buffer& x = lowering.arg(0);
  int64_t block = block_of(call);
  bool depth_first = call.flag("depth_first");
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  lowering.add(tir::compute("depth_to_space", out, [&](const std::vector<Var>& i) {
    PrimExpr within = floormod(i[2], block) * block + floormod(i[3], block);
    PrimExpr depth = depth_first ? within * out->shape[1] + i[1] : i[1] * (block * block) + within;
    return tir::load(x, {i[0], depth, floordiv(i[2], block), floordiv(i[3], block)});
  }));
  return lowering.finish();
}

relax::Annotation deduce_space_to_depth(const CallView& call) {
  expect_ndim(call, 0, 4);
  Known x = known_tensor(call, 0);
  int64_t block = block_of(call);
  x.ndim = 4;
  if (x.shape) {
    Dims& dims = *x.shape;
    dims[1] = simplified(dims[1] * (block * block));
    dims[2] = expect_multiple(call, dims[2], block, "x.2 does not divide into blocks");
    dims[3] = expect_multiple(call, dims[3], block, "x.3 does not divide into blocks");
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_space_to_depth(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_space_to_depth(call));
  const tir::Buffer& x = lowering.arg(0);
  int64_t block = block_of(call);
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  lowering.add(tir::compute("space_to_depth", out, [&](const std::vector<Var>& i) {
    PrimExpr within = floordiv(i[1], x->shape[1]);
    return tir::load(x, {i[0], floormod(i[1], x->shape[1]), i[2] * block + floordiv(within, block),
                         i[3] * block + floormod(within, block)});
  }));
  return lowering.finish();
}

bool generate_depth_to_space(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 512);
  int64_t block = rng.between(1, 3);
  shape[1] = rng.between(1, 3) * block * block;
  call.attrs["block"] = block;
  call.attrs["depth_first"] = rng.chance(0.5);
  return true;
}

bool generate_space_to_depth(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 512);
  int64_t block = rng.between(1, 3);
  for (size_t d : {2, 3}) shape[d] = rng.between(0, 4) * block;
  call.attrs["block"] = block;
  return true;
}

OperatorInfo region(const char* name, const char* doc, std::vector<ArgumentSpec> args,
                    std::vector<AttributeSpec> attrs, DeduceRule deduce, LegalizeRule legalize,
                    ReferenceRule reference, GenerateRule generate,
                    std::vector<int> ranks = {1, 2, 3, 4}) {
  return {.name = name,
          .doc = doc,
          .args = std::move(args),
          .attrs = std::move(attrs),
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference,
          .generator = {std::move(ranks), all_dtypes(), -100, 100, generate}};
}

}  // namespace

std::span<const OperatorInfo> region_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    const ArgumentSpec x = {"x", ArgumentKind::kTensor, "any shape and dtype"};
    const ArgumentSpec image = {"x", ArgumentKind::kTensor, "[n, c, h, w], any dtype"};
    const ArgumentSpec starts = {"starts", ArgumentKind::kTensor,
                                 "one start index per axis, i32 or i64"};
    const AttributeSpec block = {
        "block", AttributeKind::kInt, true, {}, "height and width of a block of pixels"};
    return std::vector<OperatorInfo>{
        region(
            "strided_slice",
            "Elements begin, begin + stride, ... before end along the given axes, as NumPy's "
            "slices: negative bounds count from the end, bounds beyond the tensor are clamped, a "
            "negative stride walks backwards. To walk to the very first element, end is "
            "-(dimension + 1) or less.",
            {x,
             {"begin", ArgumentKind::kShape, "first index, one per axis"},
             {"end", ArgumentKind::kShape, "end index (exclusive), one per axis"}},
            {{"axes", AttributeKind::kInts, false, Ints(), "axes to cut; empty: all"},
             {"strides", AttributeKind::kInts, false, Ints(), "steps, not 0; empty: all 1"}},
            deduce_strided_slice, legalize_strided_slice, reference::strided_slice,
            generate_strided_slice),
        region(
            "dynamic_slice",
            "The region of x that begins at `starts`, which is a tensor; a start that would place "
            "part of the region outside x is clamped so that the region fits (at least 0).",
            {x, starts, {"sizes", ArgumentKind::kShape, "the region's shape, at most x's"}}, {},
            deduce_dynamic_slice, legalize_dynamic_slice, reference::dynamic_slice,
            generate_dynamic_slice),
        region("dynamic_update_slice",
               "x with the region that begins at `starts` replaced by `update`; starts are clamped "
               "as in dynamic_slice.",
               {x,
                {"update", ArgumentKind::kTensor, "x's rank and dtype, no dimension larger"},
                starts},
               {}, deduce_dynamic_update_slice, legalize_dynamic_update_slice,
               reference::dynamic_update_slice, generate_dynamic_update_slice),
        region("pad",
               "x padded at both ends of each axis. The mode selects the added elements: "
               "`constant` adds the value; `edge` the nearest element; `reflect` the elements "
               "mirrored at the first and last one, which do not repeat (mirrored again for wider "
               "padding); `circular` the elements of the other end. The padding of an empty axis "
               "is the value in every mode.",
               {x},
               {{"widths",
                 AttributeKind::kInts,
                 true,
                 {},
                 "elements to add before and after each axis: before 0, after 0, before 1, ..."},
                {"mode", AttributeKind::kString, false, std::string("constant"),
                 "constant, edge, reflect or circular"},
                {"value", AttributeKind::kFloat, false, 0.0, "rounded to x's dtype"}},
               deduce_pad, legalize_pad, reference::pad, generate_pad),
        region("depth_to_space",
               "Channels rearranged into blocks of pixels: [n, c * block^2, h, w] to "
               "[n, c, h * block, w * block].",
               {image},
               {block,
                {"depth_first", AttributeKind::kBool, false, true,
                 "channel (y * block + x) * c + k holds pixel (y, x) of a block of result channel "
                 "k; else channel k * block^2 + y * block + x does"}},
               deduce_depth_to_space, legalize_depth_to_space, reference::depth_to_space,
               generate_depth_to_space, {4}),
        region("space_to_depth",
               "The inverse of depth_to_space with depth_first: [n, c, h * block, w * block] to "
               "[n, c * block^2, h, w].",
               {image}, {block}, deduce_space_to_depth, legalize_space_to_depth,
               reference::space_to_depth, generate_space_to_depth, {4}),
    };
  }();
  return kOperators;
}

}  // namespace tapml::op
