// Operators that order the elements of rows.
//
// All use one order: NaN is the greatest and equals itself, zeros of either sign are equal, and
// equal elements keep the order of their indices. Each row is sorted by a bottom-up merge sort of
// indices; rows run in parallel.
#include "op/reference/sorting.h"

#include <algorithm>

#include "op/dtypes.h"
#include "op/families.h"
#include "op/ordering.h"

namespace tapml::op {

namespace {

using Index = std::vector<PrimExpr>;

// How messages name the sorted axis.
constexpr const char* kAxis = "the extent of the axis";

relax::Annotation deduce_sorted(const CallView& call, DType* dtype) {
  expect_min_ndim(call, 0, 1);
  Known x = known_tensor(call, 0);
  if (x.ndim != relax::kUnknownNdim) {
    const int64_t axis = normalized_axis(call, call.integer("axis"), x.ndim);
    if (x.shape) expect_counted(call, (*x.shape)[static_cast<size_t>(axis)], kAxis);
  }
  if (dtype) x.dtype = *dtype;
  return tensor_result(x);
}

relax::Annotation deduce_sort(const CallView& call) { return deduce_sorted(call, nullptr); }

relax::Annotation deduce_argsort(const CallView& call) {
  DType i32 = DType::kI32;
  return deduce_sorted(call, &i32);
}

// The workspace [rows..., n] that holds the indices of each row along `axis` in order.
tir::Buffer add_order(Lowering& lowering, const tir::Buffer& x, size_t axis, bool descending) {
  Dims lines = x->shape;
  PrimExpr extent = lines[axis];
  lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(axis));
  Dims rows = lines;
  rows.push_back(extent);
  tir::Buffer order = lowering.workspace("order", rows, DType::kI32);
  tir::Buffer spare = lowering.workspace("spare", rows, DType::kI32);
  lowering.add(tir::block("merge_sort", lines, [&](const std::vector<Var>& i) {
    return merge_sort(order, spare, i, extent, [&](const PrimExpr& a, const PrimExpr& b) {
      auto key = [&](const PrimExpr& k) {
        Index at(i.begin(), i.end());
        at.insert(at.begin() + static_cast<std::ptrdiff_t>(axis), k);
        return tir::load(x, at);
      };
      return descending ? comes_before(key(b), key(a)) : comes_before(key(a), key(b));
    });
  }));
  return order;
}

// The index at a position of the result: `order` has the axis last.
PrimExpr ordered(const tir::Buffer& order, const std::vector<Var>& i, size_t axis) {
  Index at(i.begin(), i.end());
  at.erase(at.begin() + static_cast<std::ptrdiff_t>(axis));
  at.push_back(i[axis]);
  return tir::load(order, at);
}

tir::Stmt take_ordered(const tir::Buffer& out, const tir::Buffer& x, const tir::Buffer& order,
                       size_t axis) {
  return tir::compute("ordered_values", out, [&](const std::vector<Var>& i) {
    Index at(i.begin(), i.end());
    at[axis] = cast(DType::kI64, ordered(order, i, axis));
    return tir::load(x, at);
  });
}

tir::Stmt take_order(const tir::Buffer& out, const tir::Buffer& order, size_t axis) {
  return tir::compute("ordered_indices", out,
                      [&](const std::vector<Var>& i) { return ordered(order, i, axis); });
}

size_t sorted_axis(const CallView& call) {
  int rank = static_cast<int>(call.shape(0).size());
  return static_cast<size_t>(normalized_axis(call, call.integer("axis"), rank));
}

tir::PrimFuncRef legalize_sort(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  size_t axis = sorted_axis(call);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  tir::Buffer order = add_order(lowering, x, axis, call.flag("descending"));
  lowering.add(take_ordered(out, x, order, axis));
  return lowering.finish();
}

tir::PrimFuncRef legalize_argsort(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  size_t axis = sorted_axis(call);
  tir::Buffer out = lowering.output("out", x->shape, DType::kI32);
  tir::Buffer order = add_order(lowering, x, axis, call.flag("descending"));
  lowering.add(take_order(out, order, axis));
  return lowering.finish();
}

bool generate_sort(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 2048);
  call.attrs["axis"] = random_axis(shape.size(), rng);
  call.attrs["descending"] = rng.chance(0.5);
  return true;
}

// ---- topk

relax::Annotation deduce_topk(const CallView& call) {
  expect_min_ndim(call, 0, 1);
  Known x = known_tensor(call, 0);
  int64_t k = call.integer("k");
  if (k < 0) call.error("k is negative", "at least 0", std::to_string(k));
  if (x.ndim != relax::kUnknownNdim) {
    int64_t axis = normalized_axis(call, call.integer("axis"), x.ndim);
    if (x.shape) {
      expect_at_most(call, k, (*x.shape)[axis], "k and the extent of the axis");
      expect_counted(call, (*x.shape)[axis], kAxis);
      (*x.shape)[axis] = k;
    }
  }
  Known indices = x;
  indices.dtype = DType::kI32;
  return relax::tuple_annotation({tensor_result(x), tensor_result(indices)});
}

tir::PrimFuncRef legalize_topk(const CallView& call) {
  Lowering lowering(call);
  deduce_topk(call);
  const tir::Buffer& x = lowering.arg(0);
  size_t axis = sorted_axis(call);
  Dims shape = x->shape;
  shape[axis] = call.integer("k");
  tir::Buffer values = lowering.output("values", shape, x->dtype);
  tir::Buffer indices = lowering.output("indices", shape, DType::kI32);
  tir::Buffer order = add_order(lowering, x, axis, call.flag("largest"));
  lowering.add(take_ordered(values, x, order, axis));
  lowering.add(take_order(indices, order, axis));
  return lowering.finish();
}

bool generate_topk(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 2048);
  int64_t axis = random_axis(shape.size(), rng);
  int64_t extent =
      shape[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis)];
  call.attrs["axis"] = axis;
  call.attrs["k"] = rng.between(0, std::min<int64_t>(extent, 9));
  call.attrs["largest"] = rng.chance(0.6);
  return true;
}

// ---- searchsorted

relax::Annotation deduce_searchsorted(const CallView& call) {
  expect_min_ndim(call, 0, 1);
  Known sorted = known_tensor(call, 0), values = known_tensor(call, 1);
  if (sorted.dtype && values.dtype && *sorted.dtype != *values.dtype) {
    call.error("values have a different dtype than the sorted elements", dtype_name(*sorted.dtype),
               dtype_name(*values.dtype));
  }
  if (sorted.ndim != relax::kUnknownNdim && sorted.ndim > 1) {
    expect_ndim(call, 1, sorted.ndim);
    for (int d = 0; sorted.shape && values.shape && d + 1 < sorted.ndim; ++d) {
      std::string index = std::to_string(d);
      expect_same_dim(call, (*sorted.shape)[d], (*values.shape)[d],
                      "sorted." + index + " and values." + index);
    }
  }
  if (sorted.shape && !sorted.shape->empty()) {
    expect_counted(call, sorted.shape->back(), "the number of sorted elements");
  }
  values.dtype = DType::kI32;
  return tensor_result(values);
}

tir::PrimFuncRef legalize_searchsorted(const CallView& call) {
  Lowering lowering(call);
  deduce_searchsorted(call);
  const tir::Buffer &sorted = lowering.arg(0), &values = lowering.arg(1);
  bool right = call.flag("right");
  tir::Buffer out = lowering.output("out", values->shape, DType::kI32);
  lowering.add(tir::block("searchsorted", values->shape, [&](const std::vector<Var>& i) {
    Index own(i.begin(), i.end());
    return lower_bound(out, own, sorted->shape.back(), [&](const PrimExpr& k) {
      Index at;
      if (sorted->shape.size() > 1) at.assign(i.begin(), i.end() - 1);
      at.push_back(k);
      PrimExpr element = tir::load(sorted, at), value = tir::load(values, own);
      return right ? logical_not(comes_before(value, element)) : comes_before(element, value);
    });
  }));
  return lowering.finish();
}

bool generate_searchsorted(GeneratedCall& call, RandomStream& rng) {
  GeneratedTensor& sorted = call.args[0].tensors[0];
  keep_moderate(sorted.shape, 2048);
  sorted.order = GeneratedTensor::Order::kAscending;
  GeneratedTensor values = sorted;
  values.order = GeneratedTensor::Order::kFree;
  values.shape.back() = rng.between(0, 9);
  if (sorted.shape.size() == 1 && rng.chance(0.5)) values.shape.insert(values.shape.begin(), 2);
  if (sorted.shape.size() == 1 && rng.chance(0.2)) values.shape.clear();
  call.args.push_back({{values}, {}});
  call.attrs["right"] = rng.chance(0.5);
  return true;
}

}  // namespace

std::span<const OperatorInfo> sorting_operators() {
  const ArgumentSpec x = {"x", ArgumentKind::kTensor, "at least one dimension, any dtype"};
  const AttributeSpec axis = {"axis", AttributeKind::kInt, false, int64_t{-1},
                              "negative from the end"};
  const AttributeSpec descending = {"descending", AttributeKind::kBool, false, false,
                                    "greatest first"};
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "sort",
       .doc = "The elements along an axis in ascending order. NaN is the greatest; equal elements "
              "(zeros of either sign) keep their order, in a descending sort as well.",
       .args = {x},
       .attrs = {axis, descending},
       .inout = {},
       .deduce = deduce_sort,
       .legalize = legalize_sort,
       .reference = reference::sort,
       .generator = {{1, 2, 3}, all_dtypes(), -9, 9, generate_sort}},
      {.name = "argsort",
       .doc = "The indices along an axis, i32, in the order in which sort puts the elements.",
       .args = {x},
       .attrs = {axis, descending},
       .inout = {},
       .deduce = deduce_argsort,
       .legalize = legalize_argsort,
       .reference = reference::argsort,
       .generator = {{1, 2, 3}, all_dtypes(), -9, 9, generate_sort}},
      {.name = "topk",
       .doc = "The k greatest (or least) elements along an axis, best first, and their indices "
              "(i32): the first k of a descending (ascending) sort. A tuple of both.",
       .args = {x},
       .attrs = {{"k", AttributeKind::kInt, true, {}, "at most the extent of the axis"},
                 axis,
                 {"largest", AttributeKind::kBool, false, true, "greatest; else least"}},
       .outputs = 2,
       .inout = {},
       .deduce = deduce_topk,
       .legalize = legalize_topk,
       .reference = reference::topk,
       .generator = {{1, 2, 3}, all_dtypes(), -9, 9, generate_topk}},
      {.name = "searchsorted",
       .doc = "Where each value would have to be put into a row that is sorted in ascending order, "
              "i32: the number of elements below it (with `right`: below it or equal). Unspecified "
              "in range for a row that is not sorted.",
       .args = {{"sorted", ArgumentKind::kTensor, "[n], or [..., n] with rows of their own"},
                {"values", ArgumentKind::kTensor,
                 "same dtype; any shape, or [..., m] with the leading dimensions of sorted"}},
       .attrs = {{"right", AttributeKind::kBool, false, false, "after equal elements"}},
       .inout = {},
       .deduce = deduce_searchsorted,
       .legalize = legalize_searchsorted,
       .reference = reference::searchsorted,
       .generator = {{1, 2, 3}, all_dtypes(), -9, 9, generate_searchsorted}},
  };
  return kOperators;
}

}  // namespace tapml::op
