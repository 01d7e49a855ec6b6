// Operators that move elements without computing on them.
#include <algorithm>
#include <numeric>
#include <string_view>

#include "op/dtypes.h"
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

using Index = std::vector<PrimExpr>;

// ---- reshape

relax::Annotation deduce_reshape(const CallView& call) {
  Known x = known_tensor(call, 0);
  std::optional<Dims> dims = known_dims(call, 1);
  Known result{dims, relax::kUnknownNdim, x.dtype};
  if (dims) {
    for (const PrimExpr& dim : *dims) {
      if (dim.is_int() && dim->int_value < 0) {
        call.error("a dimension is negative", "dimensions of at least 0", dims_text(*dims));
      }
    }
    if (x.shape && provably_different(product(*x.shape), product(*dims))) {
      call.error("the shapes hold different numbers of elements",
                 to_string(simplified(product(*x.shape))) + " elements, as " + dims_text(*x.shape),
                 dims_text(*dims));
    }
    if (x.shape) {
      expect_equal(call, simplified(product(*x.shape)), simplified(product(*dims)),
                   "numbers of elements");
    }
  } else if (const auto* shape = relax::as_shape(call.annotations[1])) {
    result.ndim = shape->ndim;
  }
  return tensor_result(result);
}

// Index into a tensor of shape `from` of the element at row-major position `i` of shape `to`.
// Leading and trailing dimensions that agree pass through; only the dimensions between them are
// linearized.
Index reshaped_index(const Dims& from, const Dims& to, const std::vector<Var>& i) {
  size_t head = 0, tail = 0;
  size_t shorter = std::min(from.size(), to.size());
  while (head < shorter && provably_equal(from[head], to[head])) ++head;
  while (tail + head < shorter &&
         provably_equal(from[from.size() - 1 - tail], to[to.size() - 1 - tail])) {
    ++tail;
  }
  PrimExpr position = 0;
  for (size_t d = head; d + tail < to.size(); ++d) position = position * to[d] + i[d];
  Index middle;
  for (size_t d = from.size() - tail; d-- > head;) {
    bool first = d == head;
    middle.push_back(first ? position : floormod(position, from[d]));
    if (!first) position = floordiv(position, from[d]);
  }
  Index index(i.begin(), i.begin() + static_cast<std::ptrdiff_t>(head));
  index.insert(index.end(), middle.rbegin(), middle.rend());
  index.insert(index.end(), i.end() - static_cast<std::ptrdiff_t>(tail), i.end());
  return index;
}

tir::PrimFuncRef legalize_reshape(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", call.shape_argument(1), x->dtype);
  lowering.add(tir::compute("reshape", out, [&](const std::vector<Var>& i) {
    return tir::load(x, reshaped_index(x->shape, out->shape, i));
  }));
  return lowering.finish();
}

// ---- permute

std::vector<int64_t> permutation(const CallView& call, int ndim) {
  std::vector<int64_t> axes;
  for (int64_t axis : call.integers("axes")) axes.push_back(normalized_axis(call, axis, ndim));
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  std::vector<int64_t> all(ndim);
  std::iota(all.begin(), all.end(), 0);
  if (sorted != all) {
    call.error("axes are not a permutation", "each of the " + std::to_string(ndim) + " axes once",
               shape_to_string(call.integers("axes")));
  }
  return axes;
}

relax::Annotation deduce_permute(const CallView& call) {
  Known x = known_tensor(call, 0);
  if (x.ndim == relax::kUnknownNdim) x.ndim = static_cast<int>(call.integers("axes").size());
  std::vector<int64_t> axes = permutation(call, x.ndim);
  if (x.shape) {
    Dims dims;
    for (int64_t axis : axes) dims.push_back((*x.shape)[axis]);
    x.shape = dims;
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_permute(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_permute(call));
  const tir::Buffer& x = lowering.arg(0);
  std::vector<int64_t> axes = permutation(call, static_cast<int>(x->shape.size()));
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  lowering.add(tir::compute("permute", out, [&](const std::vector<Var>& i) {
    Index index(i.size());
    for (size_t d = 0; d < i.size(); ++d) index[axes[d]] = i[d];
    return tir::load(x, index);
  }));
  return lowering.finish();
}

// ---- split

// Section sizes along the axis; std::nullopt for an unknown extent.
std::optional<Dims> section_sizes(const CallView& call, const std::optional<PrimExpr>& extent) {
  int64_t sections = call.integer("sections");
  const std::vector<int64_t>& sizes = call.integers("sizes");
  if ((sections > 0) == !sizes.empty()) {
    call.error("sections and sizes are both given or both missing",
               "either sections > 0 or a list of sizes",
               "sections=" + std::to_string(sections) + ", sizes=" + shape_to_string(sizes));
  }
  if (!sizes.empty()) {
    Dims result;
    int64_t total = 0;
    for (int64_t size : sizes) {
      if (size < 0) {
        call.error("a section is negative", "sizes of at least 0", shape_to_string(sizes));
      }
      total += size;
      result.push_back(size);
    }
    if (extent && provably_different(*extent, total)) {
      call.error("the sections do not add up to the dimension", to_string(*extent),
                 std::to_string(total));
    }
    if (extent) expect_same_dim(call, *extent, total, "of the axis and the sum of the sections");
    return result;
  }
  if (!extent) return std::nullopt;
  return Dims(static_cast<size_t>(sections),
              expect_multiple(call, *extent, sections,
                              "the dimension does not divide into equal sections"));
}

relax::Annotation deduce_split(const CallView& call) {
  Known x = known_tensor(call, 0);
  std::optional<PrimExpr> extent;
  int64_t axis = call.integer("axis");
  if (x.ndim != relax::kUnknownNdim) axis = normalized_axis(call, axis, x.ndim);
  if (x.shape) extent = (*x.shape)[axis];
  std::optional<Dims> sizes = section_sizes(call, extent);
  size_t count = sizes ? sizes->size() : static_cast<size_t>(call.integer("sections"));
  std::vector<relax::Annotation> fields;
  for (size_t f = 0; f < count; ++f) {
    Known field = x;
    if (x.shape) (*field.shape)[axis] = (*sizes)[f];
    fields.push_back(tensor_result(field));
  }
  return relax::tuple_annotation(std::move(fields));
}

tir::PrimFuncRef legalize_split(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  auto axis = static_cast<size_t>(
      normalized_axis(call, call.integer("axis"), static_cast<int>(x->shape.size())));
  Dims sizes = *section_sizes(call, x->shape[axis]);
  PrimExpr start = 0;
  for (size_t f = 0; f < sizes.size(); ++f) {
    Dims shape = x->shape;
    shape[axis] = sizes[f];
    std::string suffix = std::to_string(f);
    tir::Buffer out = lowering.output("out" + suffix, shape, x->dtype);
    lowering.add(tir::compute("split" + suffix, out, [&](const std::vector<Var>& i) {
      Index index(i);
      index[axis] = start + index[axis];
      return tir::load(x, index);
    }));
    start = simplified(start + sizes[f]);
  }
  return lowering.finish();
}

// ---- slice

struct SlicePlan {
  std::vector<int64_t> axes;
  std::vector<int64_t> strides;
  std::optional<Dims> begin, end;

  SlicePlan(const CallView& call, int ndim) : begin(known_dims(call, 1)), end(known_dims(call, 2)) {
    for (int64_t axis : call.integers("axes")) axes.push_back(normalized_axis(call, axis, ndim));
    strides = call.integers("strides");
    if (axes.empty()) {
      axes.resize(ndim);
      std::iota(axes.begin(), axes.end(), 0);
    }
    std::vector<int64_t> sorted = axes;
    std::sort(sorted.begin(), sorted.end());
    if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
      call.error("an axis is given twice", "distinct axes", shape_to_string(axes));
    }
    if (strides.empty()) strides.assign(axes.size(), 1);
    auto expect_count = [&](size_t count, const char* what) {
      if (count == axes.size()) return;
      call.error(std::string(what) + " does not have one entry per axis",
                 std::to_string(axes.size()), std::to_string(count));
    };
    expect_count(strides.size(), "strides");
    if (begin) expect_count(begin->size(), "begin");
    if (end) expect_count(end->size(), "end");
    for (int64_t stride : strides) {
      if (stride < 1)
        call.error("a stride is not positive", "strides of at least 1", std::to_string(stride));
    }
  }

  PrimExpr extent(size_t a) const {
    PrimExpr length = simplified((*end)[a] - (*begin)[a]);
    return simplified(ceil_div(length, strides[a]));
  }
};

relax::Annotation deduce_slice(const CallView& call) {
  Known x = known_tensor(call, 0);
  if (x.ndim == relax::kUnknownNdim) return tensor_result(x);
  SlicePlan plan(call, x.ndim);
  if (!x.shape) return tensor_result(x);
  if (!plan.begin || !plan.end) {
    x.shape.reset();
    return tensor_result(x);
  }
  for (size_t a = 0; a < plan.axes.size(); ++a) {
    PrimExpr& dim = (*x.shape)[plan.axes[a]];
    const PrimExpr &begin = (*plan.begin)[a], &end = (*plan.end)[a];
    if (provably_less(begin, 0) || provably_less(end, begin) || provably_less(dim, end)) {
      call.error("the range of axis " + std::to_string(plan.axes[a]) + " is outside the tensor",
                 "0 <= begin <= end <= " + to_string(dim),
                 to_string(begin) + " to " + to_string(end));
    }
    std::string axis = std::to_string(plan.axes[a]);
    expect_at_most(call, end, dim, "end." + axis + " and x." + axis);
    expect_at_least(call, begin, 0, "begin." + axis);
    expect_at_most(call, begin, end, "begin." + axis + " and end." + axis);
    dim = plan.extent(a);
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_slice(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_slice(call));
  const tir::Buffer& x = lowering.arg(0);
  SlicePlan plan(call, static_cast<int>(x->shape.size()));
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  lowering.add(tir::compute("slice", out, [&](const std::vector<Var>& i) {
    Index index(i);
    for (size_t a = 0; a < plan.axes.size(); ++a) {
      PrimExpr& at = index[plan.axes[a]];
      at = (*plan.begin)[a] + at * plan.strides[a];
    }
    return tir::load(x, index);
  }));
  return lowering.finish();
}

// ---- random calls

int64_t kept_moderate(GeneratedCall& call) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  return static_cast<int64_t>(shape.size());
}

bool generate_reshape(GeneratedCall& call, RandomStream& rng) {
  kept_moderate(call);
  Shape shape = call.args[0].tensors[0].shape;
  for (int step = 0; step < 3; ++step) {
    auto rank = static_cast<uint32_t>(shape.size());
    if (rank > 1 && rng.chance(0.5)) {
      uint32_t d = rng.below(rank - 1);
      shape[d] *= shape[d + 1];
      shape.erase(shape.begin() + d + 1);
    } else if (rank > 0 && rng.chance(0.7)) {
      uint32_t d = rng.below(rank);
      int64_t factor = pick<int64_t>({2, 3, 4, 5}, rng);
      if (shape[d] % factor != 0) continue;
      shape[d] /= factor;
      shape.insert(shape.begin() + d + 1, factor);
    } else {
      shape.insert(shape.begin() + rng.below(rank + 1), 1);
    }
  }
  call.args.push_back({{}, shape});
  return true;
}

bool generate_permute(GeneratedCall& call, RandomStream& rng) {
  int64_t rank = kept_moderate(call);
  std::vector<int64_t> axes(static_cast<size_t>(rank));
  std::iota(axes.begin(), axes.end(), 0);
  for (size_t i = axes.size(); i > 1; --i) {
    std::swap(axes[i - 1], axes[rng.below(static_cast<uint32_t>(i))]);
  }
  if (rank > 0 && rng.chance(0.3)) axes[0] -= rank;
  call.attrs["axes"] = axes;
  return true;
}

bool generate_split(GeneratedCall& call, RandomStream& rng) {
  int64_t rank = kept_moderate(call);
  if (rank == 0) return false;
  int64_t axis = random_axis(static_cast<size_t>(rank), rng);
  int64_t extent =
      call.args[0].tensors[0].shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)];
  call.attrs["axis"] = axis;
  if (rng.chance(0.5)) {
    int64_t sections = rng.between(1, 4);
    if (extent % sections != 0) sections = 1;
    call.attrs["sections"] = sections;
  } else {
    int64_t first = rng.between(0, extent), second = rng.between(first, extent);
    call.attrs["sizes"] = std::vector<int64_t>{first, second - first, extent - second};
  }
  return true;
}

bool generate_slice(GeneratedCall& call, RandomStream& rng) {
  int64_t rank = kept_moderate(call);
  const Shape& shape = call.args[0].tensors[0].shape;
  std::vector<int64_t> axes, begin, end, strides;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (rng.chance(0.3)) continue;
    int64_t extent = shape[static_cast<size_t>(axis)];
    axes.push_back(rng.chance(0.5) ? axis : axis - rank);
    begin.push_back(rng.between(0, extent));
    end.push_back(rng.chance(0.5) ? extent : rng.between(begin.back(), extent));
    strides.push_back(rng.between(1, 3));
  }
  if (axes.empty() && rank > 0) return false;
  call.args.push_back({{}, begin});
  call.args.push_back({{}, end});
  call.attrs["axes"] = axes;
  call.attrs["strides"] = strides;
  return true;
}

OperatorInfo layout(const char* name, const char* doc, std::vector<ArgumentSpec> args,
                    std::vector<AttributeSpec> attrs, DeduceRule deduce, LegalizeRule legalize,
                    ReferenceRule reference, GenerateRule generate) {
  return {.name = name,
          .doc = doc,
          .args = std::move(args),
          .attrs = std::move(attrs),
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference,
          .generator = {{0, 1, 2, 3, 4}, all_dtypes(), -100, 100, generate}};
}

}  // namespace

std::span<const OperatorInfo> layout_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    const ArgumentSpec x = {"x", ArgumentKind::kTensor, "any shape and dtype"};
    const AttributeSpec axis = {"axis", AttributeKind::kInt, true, {}, "negative from the end"};
    std::vector<OperatorInfo> list = {
        layout("reshape", "The elements of x in row-major order under another shape.",
               {x, {"shape", ArgumentKind::kShape, "the result's shape, as many elements as x"}},
               {}, deduce_reshape, legalize_reshape, reference::reshape, generate_reshape),
        layout("permute", "Dimension i of the result is dimension axes[i] of x.", {x},
               {{"axes", AttributeKind::kInts, true, {}, "a permutation of x's axes"}},
               deduce_permute, legalize_permute, reference::permute, generate_permute),
        layout("split",
               "x cut along an axis into a tuple of tensors: `sections` equal parts (the dimension "
               "is a multiple), or parts of the given sizes.",
               {x},
               {axis,
                {"sections", AttributeKind::kInt, false, int64_t{0}, "number of equal parts"},
                {"sizes", AttributeKind::kInts, false, std::vector<int64_t>(),
                 "extents of the parts"}},
               deduce_split, legalize_split, reference::split, generate_split),
        layout("slice",
               "Elements begin, begin + stride, ... before end along the given axes; "
               "0 <= begin <= end <= the dimension.",
               {x,
                {"begin", ArgumentKind::kShape, "first index, one per axis"},
                {"end", ArgumentKind::kShape, "end index (exclusive), one per axis"}},
               {{"axes", AttributeKind::kInts, false, std::vector<int64_t>(),
                 "axes to cut; empty: all"},
                {"strides", AttributeKind::kInts, false, std::vector<int64_t>(),
                 "positive steps; empty: all 1"}},
               deduce_slice, legalize_slice, reference::slice, generate_slice),
    };
    for (OperatorInfo& info : list) {
      if (std::string_view(info.name) == "split") info.outputs = kTupleOfOutputs;
    }
    return list;
  }();
  return kOperators;
}

}  // namespace tapml::op
