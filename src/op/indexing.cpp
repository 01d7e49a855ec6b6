// Operators that read elements at indices held in tensors.
#include "op/reference/indexing.h"

#include <algorithm>

#include "op/dtypes.h"
#include "op/families.h"
#include "op/indices.h"

namespace tapml::op {

namespace {

using Index = std::vector<PrimExpr>;

// An element of `x` if every index is in range, else 0.
PrimExpr load_or_zero(const tir::Buffer& x, Index index, const PrimExpr& valid) {
  return select(valid, tir::load(x, std::move(index)), number(0, x->dtype));
}

// ---- take

relax::Annotation deduce_take(const CallView& call) {
  Known x = known_tensor(call, 0), indices = known_tensor(call, 1);
  expect_min_ndim(call, 0, 1);
  expect_index_dtype(call, 1);
  Known result;
  result.dtype = x.dtype;
  if (const auto* dtype = find_attr<DType>(call.attrs, "out_dtype")) result.dtype = *dtype;
  if (x.ndim == relax::kUnknownNdim) return tensor_result(result);
  auto axis = normalized_axis(call, call.integer("axis"), x.ndim);
  if (indices.ndim != relax::kUnknownNdim) result.ndim = x.ndim - 1 + indices.ndim;
  if (x.shape && indices.shape) {
    Dims dims(x.shape->begin(), x.shape->begin() + axis);
    dims.insert(dims.end(), indices.shape->begin(), indices.shape->end());
    dims.insert(dims.end(), x.shape->begin() + axis + 1, x.shape->end());
    result.shape = dims;
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize_take(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_take(call));
  const tir::Buffer& x = lowering.arg(0);
  const tir::Buffer& indices = lowering.arg(1);
  auto axis = normalized_axis(call, call.integer("axis"), static_cast<int>(x->shape.size()));
  auto count = static_cast<std::ptrdiff_t>(indices->shape.size());
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  lowering.add(tir::compute("take", out, [&](const std::vector<Var>& i) {
    Index at(i.begin() + axis, i.begin() + axis + count);
    AxisIndex chosen = axis_index(indices, at, x->shape[axis]);
    Index index(i.begin(), i.begin() + axis);
    index.push_back(chosen.index);
    index.insert(index.end(), i.begin() + axis + count, i.end());
    return cast(out->dtype, load_or_zero(x, index, chosen.valid));
  }));
  return lowering.finish();
}

bool generate_take(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 1024);
  int64_t axis = random_axis(shape.size(), rng);
  int64_t extent =
      shape[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis)];
  Shape taken;
  for (int64_t rank = rng.between(0, 2); rank > 0; --rank) taken.push_back(rng.between(0, 5));
  call.args.push_back({{random_indices(taken, extent, rng)}, {}});
  call.attrs["axis"] = axis;
  return true;
}

// ---- gather

relax::Annotation deduce_gather(const CallView& call) {
  Known x = known_tensor(call, 0), indices = known_tensor(call, 1);
  expect_min_ndim(call, 0, 1);
  expect_index_dtype(call, 1);
  if (x.ndim != relax::kUnknownNdim) {
    expect_ndim(call, 1, x.ndim);
    int64_t axis = normalized_axis(call, call.integer("axis"), x.ndim);
    for (int d = 0; x.shape && indices.shape && d < x.ndim; ++d) {
      if (d == axis) continue;
      std::string index = std::to_string(d);
      expect_at_most(call, (*indices.shape)[d], (*x.shape)[d],
                     "indices." + index + " and x." + index);
    }
  }
  indices.dtype = x.dtype;
  return tensor_result(indices);
}

tir::PrimFuncRef legalize_gather(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer &x = lowering.arg(0), &indices = lowering.arg(1);
  deduce_gather(call);
  auto axis = normalized_axis(call, call.integer("axis"), static_cast<int>(x->shape.size()));
  tir::Buffer out = lowering.output("out", indices->shape, x->dtype);
  lowering.add(tir::compute("gather", out, [&](const std::vector<Var>& i) {
    Index index(i.begin(), i.end());
    AxisIndex chosen = axis_index(indices, index, x->shape[axis]);
    index[axis] = chosen.index;
    return load_or_zero(x, index, chosen.valid);
  }));
  return lowering.finish();
}

bool generate_gather(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 2048);
  int64_t axis = random_axis(shape.size(), rng);
  auto front = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis);
  Shape taken = shape;
  for (size_t d = 0; d < taken.size(); ++d) {
    if (d == front) {
      taken[d] = rng.between(0, 6);
    } else if (rng.chance(0.3)) {
      taken[d] = rng.between(0, taken[d]);
    }
  }
  call.args.push_back({{random_indices(taken, shape[front], rng)}, {}});
  call.attrs["axis"] = axis;
  return true;
}

// ---- gather_nd

relax::Annotation deduce_gather_nd(const CallView& call) {
  Known x = known_tensor(call, 0), indices = known_tensor(call, 1);
  expect_min_ndim(call, 1, 1);
  expect_index_dtype(call, 1);
  Known result{std::nullopt, relax::kUnknownNdim, x.dtype};
  if (!indices.shape || x.ndim == relax::kUnknownNdim) return tensor_result(result);
  int64_t depth = index_depth(call, *indices.shape, x.ndim);
  result.ndim = indices.ndim - 1 + x.ndim - static_cast<int>(depth);
  if (x.shape) {
    Dims dims(indices.shape->begin(), indices.shape->end() - 1);
    dims.insert(dims.end(), x.shape->begin() + depth, x.shape->end());
    result.shape = dims;
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize_gather_nd(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_gather_nd(call));
  const tir::Buffer &x = lowering.arg(0), &indices = lowering.arg(1);
  int64_t depth = index_depth(call, indices->shape, static_cast<int>(x->shape.size()));
  auto outer = static_cast<std::ptrdiff_t>(indices->shape.size()) - 1;
  tir::Buffer out = lowering.output("out", *result.shape, x->dtype);
  lowering.add(tir::compute("gather_nd", out, [&](const std::vector<Var>& i) {
    Index index;
    PrimExpr valid = make_bool(true);
    for (int64_t d = 0; d < depth; ++d) {
      Index at(i.begin(), i.begin() + outer);
      at.push_back(d);
      AxisIndex chosen = axis_index(indices, at, x->shape[d]);
      index.push_back(chosen.index);
      valid = logical_and(valid, chosen.valid);
    }
    index.insert(index.end(), i.begin() + outer, i.end());
    return load_or_zero(x, index, valid);
  }));
  return lowering.finish();
}

bool generate_gather_nd(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 1024);
  int64_t depth = rng.between(0, static_cast<int64_t>(shape.size()));
  int64_t least = 8;
  for (int64_t d = 0; d < depth; ++d) least = std::min(least, shape[static_cast<size_t>(d)]);
  Shape taken;
  for (int64_t rank = rng.between(0, 2); rank > 0; --rank) taken.push_back(rng.between(0, 4));
  taken.push_back(depth);
  call.args.push_back({{random_indices(taken, least, rng)}, {}});
  return true;
}

// ---- one_hot

relax::Annotation deduce_one_hot(const CallView& call) {
  Known indices = known_tensor(call, 0);
  expect_index_dtype(call, 0);
  int64_t depth = call.integer("depth");
  if (depth < 0) call.error("the depth is negative", "at least 0", std::to_string(depth));
  indices.dtype = *find_attr<DType>(call.attrs, "dtype");
  if (indices.ndim == relax::kUnknownNdim) return tensor_result(indices);
  int64_t axis = normalized_axis(call, call.integer("axis"), ++indices.ndim);
  if (indices.shape) indices.shape->insert(indices.shape->begin() + axis, PrimExpr(depth));
  return tensor_result(indices);
}

tir::PrimFuncRef legalize_one_hot(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_one_hot(call));
  const tir::Buffer& indices = lowering.arg(0);
  int64_t axis =
      normalized_axis(call, call.integer("axis"), static_cast<int>(result.shape->size()));
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  lowering.add(tir::compute("one_hot", out, [&](const std::vector<Var>& i) {
    Index at(i.begin(), i.end());
    at.erase(at.begin() + axis);
    AxisIndex chosen = axis_index(indices, at, call.integer("depth"));
    return select(eq(chosen.index, i[axis]), number(call.number("on_value"), out->dtype),
                  number(call.number("off_value"), out->dtype));
  }));
  return lowering.finish();
}

bool generate_one_hot(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 256);
  call.attrs["depth"] = rng.between(0, 7);
  call.attrs["axis"] = random_axis(shape.size() + 1, rng);
  call.attrs["dtype"] = pick(all_dtypes(), rng);
  if (rng.chance(0.3)) {
    call.attrs["on_value"] = 5.0;
    call.attrs["off_value"] = 2.0;
  }
  return true;
}

}  // namespace

std::span<const OperatorInfo> indexing_operators() {
  const ArgumentSpec x = {"x", ArgumentKind::kTensor, "at least one dimension, any dtype"};
  const AttributeSpec axis = {"axis", AttributeKind::kInt, false, int64_t{0},
                              "negative from the end"};
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "take",
       .doc = "Slices of x at `indices` along an axis (an embedding look-up where the axis is 0): "
              "the axis is replaced by the dimensions of the indices. A negative index counts from "
              "the end; one outside the axis gives zeros.",
       .args = {x, {"indices", ArgumentKind::kTensor, "any shape, i32 or i64"}},
       .attrs = {axis, {"out_dtype", AttributeKind::kDType, false, {}, "default: x's dtype"}},
       .inout = {},
       .deduce = deduce_take,
       .legalize = legalize_take,
       .reference = reference::take,
       .generator = {{1, 2, 3}, all_dtypes(), -100, 100, generate_take}},
      {.name = "gather",
       .doc = "Elements of x at `indices` along an axis: the result has the indices' shape, and "
              "its element at (i, j, k) is x[i, indices[i, j, k], k] for axis 1. Indices as take.",
       .args = {x,
                {"indices", ArgumentKind::kTensor,
                 "i32 or i64, of x's rank, no dimension but the axis larger than x's"}},
       .attrs = {axis},
       .inout = {},
       .deduce = deduce_gather,
       .legalize = legalize_gather,
       .reference = reference::gather,
       .generator = {{1, 2, 3}, all_dtypes(), -100, 100, generate_gather}},
      {.name = "gather_nd",
       .doc = "Slices of x at tuples of indices: `indices` [..., q] replaces the first q "
              "dimensions of x by its leading ones. Indices as take; a tuple with one outside "
              "gives zeros.",
       .args = {{"x", ArgumentKind::kTensor, "rank at least q, any dtype"},
                {"indices", ArgumentKind::kTensor, "[..., q], i32 or i64, q constant"}},
       .attrs = {},
       .inout = {},
       .deduce = deduce_gather_nd,
       .legalize = legalize_gather_nd,
       .reference = reference::gather_nd,
       .generator = {{0, 1, 2, 3}, all_dtypes(), -100, 100, generate_gather_nd}},
      {.name = "one_hot",
       .doc = "on_value at the index along a new axis, off_value at all other indices. A negative "
              "index counts from the end; one outside the axis gives only off_value.",
       .args = {{"indices", ArgumentKind::kTensor, "any shape, i32 or i64"}},
       .attrs = {{"depth", AttributeKind::kInt, true, {}, "extent of the new axis"},
                 {"axis", AttributeKind::kInt, false, int64_t{-1},
                  "of the result; negative from its end"},
                 {"on_value", AttributeKind::kFloat, false, 1.0, "rounded to the dtype"},
                 {"off_value", AttributeKind::kFloat, false, 0.0, "rounded to the dtype"},
                 {"dtype", AttributeKind::kDType, false, DType::kF32, "of the result"}},
       .inout = {},
       .deduce = deduce_one_hot,
       .legalize = legalize_one_hot,
       .reference = reference::one_hot,
       .generator = {{0, 1, 2, 3}, {DType::kI32, DType::kI64}, -8, 8, generate_one_hot}},
  };
  return kOperators;
}

}  // namespace tapml::op
