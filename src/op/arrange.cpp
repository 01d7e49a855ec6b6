// Operators that change a tensor's shape or the order along its axes.
#include "op/reference/arrange.h"

#include <algorithm>
#include <numeric>

#include "op/dtypes.h"
#include "op/families.h"
#include "op/lowering.h"

namespace tapml::op {

namespace {

using Index = std::vector<PrimExpr>;
using Ints = std::vector<int64_t>;

// out[i...] = x[index(i...)], with `result` as the shape of out.
template <class F>
tir::PrimFuncRef legalize_moved(const CallView& call, const relax::Annotation& result, F&& index) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", *known_result(call, result).shape, x->dtype);
  lowering.add(tir::compute(call.info.name, out, [&](const std::vector<Var>& i) {
    return tir::load(x, index(x->shape, i));
  }));
  return lowering.finish();
}

size_t axis_of(const CallView& call, int64_t axis, size_t rank) {
  return static_cast<size_t>(normalized_axis(call, axis, static_cast<int>(rank)));
}

// The call as a view of the same elements.
relax::Expr as_reshape(const CallView& call, BindingSink& sink) {
  relax::Annotation annotation = call.info.deduce(call);
  const auto* result = relax::as_tensor(annotation);
  if (!result || !result->shape) return nullptr;
  return sink.emit(
      relax::make_op_call("reshape", {call.args[0], relax::make_shape(*result->shape)}),
      call.info.name);
}

// ---- expand_dims

relax::Annotation deduce_expand_dims(const CallView& call) {
  Known x = known_tensor(call, 0);
  const Ints& given = call.integers("axes");
  if (given.empty()) call.error("there are no axes", "at least one axis", "none");
  if (x.ndim == relax::kUnknownNdim) return tensor_result(x);
  x.ndim += static_cast<int>(given.size());
  std::vector<int64_t> axes = normalized_axes(call, given, x.ndim);
  if (x.shape) {
    for (int64_t axis : axes) x.shape->insert(x.shape->begin() + axis, PrimExpr(1));
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_expand_dims(const CallView& call) {
  relax::Annotation result = deduce_expand_dims(call);
  size_t rank = known_result(call, result).shape->size();
  std::vector<int64_t> axes = normalized_axes(call, call.integers("axes"), static_cast<int>(rank));
  return legalize_moved(call, result, [&](const Dims&, const std::vector<Var>& i) {
    Index index;
    for (size_t d = 0; d < rank; ++d) {
      if (!std::binary_search(axes.begin(), axes.end(), static_cast<int64_t>(d))) {
        index.push_back(i[d]);
      }
    }
    return index;
  });
}

bool generate_expand_dims(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  int64_t rank = static_cast<int64_t>(shape.size()) + 1;
  Ints axes = {random_axis(static_cast<size_t>(rank), rng)};
  if (rng.chance(0.3)) axes = {0, rank};
  call.attrs["axes"] = axes;
  return true;
}

// ---- squeeze

relax::Annotation deduce_squeeze(const CallView& call) {
  Known x = known_tensor(call, 0);
  const Ints& given = call.integers("axes");
  if (given.empty()) call.error("there are no axes", "at least one axis of extent 1", "none");
  if (x.ndim == relax::kUnknownNdim) return tensor_result(x);
  std::vector<int64_t> axes = normalized_axes(call, given, x.ndim);
  if (x.shape) {
    for (size_t a = axes.size(); a-- > 0;) {
      expect_same_dim(call, (*x.shape)[axes[a]], 1, "x." + std::to_string(axes[a]) + " and 1");
      x.shape->erase(x.shape->begin() + axes[a]);
    }
  }
  x.ndim -= static_cast<int>(axes.size());
  return tensor_result(x);
}

tir::PrimFuncRef legalize_squeeze(const CallView& call) {
  int rank = static_cast<int>(call.shape(0).size());
  std::vector<int64_t> axes = normalized_axes(call, call.integers("axes"), rank);
  return legalize_moved(call, deduce_squeeze(call), [&](const Dims&, const std::vector<Var>& i) {
    Index index(i.begin(), i.end());
    for (int64_t axis : axes) index.insert(index.begin() + axis, PrimExpr(0));
    return index;
  });
}

bool generate_squeeze(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  Ints ones;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) ones.push_back(static_cast<int64_t>(d));
  }
  // Some axis to drop, and some axis that stays.
  if (ones.empty() && shape.size() < 4) {
    auto d = static_cast<int64_t>(rng.below(static_cast<uint32_t>(shape.size()) + 1));
    shape.insert(shape.begin() + d, 1);
    ones = {d};
  } else if (ones.empty()) {
    auto d = static_cast<int64_t>(rng.below(4));
    shape[d] = 1;
    ones = {d};
  } else if (ones.size() == shape.size() && shape.size() < 4) {
    shape.push_back(rng.between(2, 5));
  }
  if (rng.chance(0.5)) ones.resize(1);
  if (rng.chance(0.5)) ones[0] -= static_cast<int64_t>(shape.size());
  call.attrs["axes"] = ones;
  return true;
}

// ---- flatten

relax::Annotation deduce_flatten(const CallView& call) {
  Known x = known_tensor(call, 0);
  if (x.ndim == relax::kUnknownNdim) return tensor_result(x);
  if (x.ndim == 0) {
    if (x.shape) x.shape = Dims{1};
    x.ndim = 1;
    return tensor_result(x);
  }
  int64_t start = normalized_axis(call, call.integer("start_axis"), x.ndim);
  int64_t end = normalized_axis(call, call.integer("end_axis"), x.ndim);
  if (end < start) {
    call.error("the last axis is before the first", "start_axis <= end_axis",
               std::to_string(start) + " to " + std::to_string(end));
  }
  if (x.shape) {
    Dims merged(x.shape->begin() + start, x.shape->begin() + end + 1);
    x.shape->erase(x.shape->begin() + start, x.shape->begin() + end);
    (*x.shape)[start] = simplified(product(merged));
  }
  x.ndim -= static_cast<int>(end - start);
  return tensor_result(x);
}

tir::PrimFuncRef legalize_flatten(const CallView& call) {
  Dims from = call.shape(0);
  int rank = static_cast<int>(from.size());
  int64_t start = rank ? normalized_axis(call, call.integer("start_axis"), rank) : 0;
  int64_t end = rank ? normalized_axis(call, call.integer("end_axis"), rank) : -1;
  return legalize_moved(call, deduce_flatten(call), [&](const Dims&, const std::vector<Var>& i) {
    if (rank == 0) return Index();
    Index index(i.begin(), i.begin() + start), middle;
    PrimExpr position = i[start];
    for (int64_t d = end; d >= start; --d) {
      middle.push_back(d == start ? position : floormod(position, from[d]));
      position = floordiv(position, from[d]);
    }
    index.insert(index.end(), middle.rbegin(), middle.rend());
    index.insert(index.end(), i.begin() + start + 1, i.end());
    return index;
  });
}

bool generate_flatten(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0) return true;
  int64_t start = rng.between(0, rank - 1);
  call.attrs["start_axis"] = start;
  call.attrs["end_axis"] = rng.between(start, rank - 1) - rank;
  return true;
}

// ---- broadcast_to

relax::Annotation deduce_broadcast_to(const CallView& call) {
  Known x = known_tensor(call, 0);
  std::optional<Dims> shape = known_dims(call, 1);
  Known result{shape, relax::kUnknownNdim, x.dtype};
  if (const auto* value = relax::as_shape(call.annotations[1])) result.ndim = value->ndim;
  if (shape) {
    for (const PrimExpr& dim : *shape) {
      if (provably_less(dim, 0)) {
        call.error("a dimension is negative", "dimensions of at least 0", dims_text(*shape));
      }
    }
  }
  if (x.shape && shape) {
    if (x.shape->size() > shape->size()) {
      call.error("the result has a lower rank than x",
                 "at least " + std::to_string(x.shape->size()) + " dimensions", dims_text(*shape));
    }
    for (size_t d = 0; d < x.shape->size(); ++d) {
      size_t to = shape->size() - x.shape->size() + d;
      expect_broadcast_dim(call, (*x.shape)[d], (*shape)[to],
                           "x." + std::to_string(d) + " and shape." + std::to_string(to));
    }
  }
  return tensor_result(result);
}

tir::PrimFuncRef legalize_broadcast_to(const CallView& call) {
  relax::Annotation result = deduce_broadcast_to(call);
  Dims to = *known_result(call, result).shape;
  return legalize_moved(call, result, [&](const Dims& from, const std::vector<Var>& i) {
    return broadcast_index(from, to, i);
  });
}

bool generate_broadcast_to(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 1024);
  Shape target = shape;
  for (int64_t& dim : target) {
    if (dim == 1) dim = rng.between(0, 4);
  }
  for (int64_t extra = rng.between(0, 2); extra > 0; --extra) {
    target.insert(target.begin(), rng.between(1, 3));
  }
  call.args.push_back({{}, target});
  return true;
}

// ---- flip

relax::Annotation deduce_flip(const CallView& call) {
  Known x = known_tensor(call, 0);
  if (x.ndim != relax::kUnknownNdim) normalized_axes(call, call.integers("axes"), x.ndim);
  return tensor_result(x);
}

tir::PrimFuncRef legalize_flip(const CallView& call) {
  int rank = static_cast<int>(call.shape(0).size());
  std::vector<int64_t> axes = normalized_axes(call, call.integers("axes"), rank);
  return legalize_moved(call, deduce_flip(call), [&](const Dims& from, const std::vector<Var>& i) {
    Index index(i.begin(), i.end());
    for (int64_t axis : axes) index[axis] = from[axis] - 1 - index[axis];
    return index;
  });
}

bool generate_flip(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  if (!shape.empty() && rng.chance(0.7)) {
    call.attrs["axes"] = Ints{random_axis(shape.size(), rng)};
  }
  return true;
}

// ---- roll

// One shift per axis; without axes, one shift of all elements in row-major order.
std::vector<int64_t> roll_axes(const CallView& call, int ndim) {
  const Ints &shifts = call.integers("shifts"), &given = call.integers("axes");
  size_t wanted = given.empty() ? 1 : given.size();
  if (shifts.size() != wanted) {
    call.error("shifts does not have one entry per axis", std::to_string(wanted) + " shifts",
               shape_to_string(shifts));
  }
  std::vector<int64_t> axes;
  for (int64_t axis : given) axes.push_back(normalized_axis(call, axis, ndim));
  std::vector<int64_t> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    call.error("an axis is given twice", "distinct axes", shape_to_string(given));
  }
  return axes;
}

relax::Annotation deduce_roll(const CallView& call) {
  Known x = known_tensor(call, 0);
  if (x.ndim != relax::kUnknownNdim) roll_axes(call, x.ndim);
  return tensor_result(x);
}

tir::PrimFuncRef legalize_roll(const CallView& call) {
  const Ints& shifts = call.integers("shifts");
  std::vector<int64_t> axes = roll_axes(call, static_cast<int>(call.shape(0).size()));
  return legalize_moved(call, deduce_roll(call), [&](const Dims& from, const std::vector<Var>& i) {
    Index index(i.begin(), i.end());
    for (size_t a = 0; a < axes.size(); ++a) {
      index[axes[a]] = floormod(index[axes[a]] - shifts[a], from[axes[a]]);
    }
    if (!axes.empty() || i.empty()) return index;
    PrimExpr position = 0;
    for (size_t d = 0; d < i.size(); ++d) position = position * from[d] + i[d];
    position = floormod(position - shifts[0], product(from));
    for (size_t d = i.size(); d-- > 0;) {
      index[d] = d == 0 ? position : floormod(position, from[d]);
      position = floordiv(position, from[d]);
    }
    return index;
  });
}

bool generate_roll(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  if (!shape.empty() && rng.chance(0.7)) {
    call.attrs["axes"] = Ints{random_axis(shape.size(), rng)};
  }
  call.attrs["shifts"] = Ints{rng.between(-20, 20)};
  return true;
}

// ---- tile and repeat

Ints checked_repeats(const CallView& call, Ints repeats) {
  for (int64_t count : repeats) {
    if (count < 0) {
      call.error("a number of copies is negative", "at least 0", shape_to_string(repeats));
    }
  }
  return repeats;
}

relax::Annotation deduce_tile(const CallView& call) {
  Known x = known_tensor(call, 0);
  Ints repeats = checked_repeats(call, call.integers("repeats"));
  if (x.ndim == relax::kUnknownNdim) return tensor_result(x);
  auto rank = std::max(static_cast<size_t>(x.ndim), repeats.size());
  x.ndim = static_cast<int>(rank);
  if (x.shape) {
    x.shape->insert(x.shape->begin(), rank - x.shape->size(), PrimExpr(1));
    for (size_t r = 0; r < repeats.size(); ++r) {
      PrimExpr& dim = (*x.shape)[rank - repeats.size() + r];
      dim = simplified(dim * repeats[r]);
    }
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_tile(const CallView& call) {
  return legalize_moved(call, deduce_tile(call), [&](const Dims& from, const std::vector<Var>& i) {
    Index index;
    for (size_t d = 0; d < from.size(); ++d) {
      index.push_back(floormod(i[i.size() - from.size() + d], from[d]));
    }
    return index;
  });
}

bool generate_tile(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 512);
  Ints repeats(static_cast<size_t>(rng.between(0, static_cast<int64_t>(shape.size()) + 1)));
  for (int64_t& count : repeats) count = rng.between(rng.chance(0.1) ? 0 : 1, 3);
  call.attrs["repeats"] = repeats;
  return true;
}

relax::Annotation deduce_repeat(const CallView& call) {
  Known x = known_tensor(call, 0);
  checked_repeats(call, {call.integer("repeats")});
  if (x.ndim == relax::kUnknownNdim) return tensor_result(x);
  int64_t axis = normalized_axis(call, call.integer("axis"), x.ndim);
  if (x.shape) (*x.shape)[axis] = simplified((*x.shape)[axis] * call.integer("repeats"));
  return tensor_result(x);
}

tir::PrimFuncRef legalize_repeat(const CallView& call) {
  size_t axis = axis_of(call, call.integer("axis"), call.shape(0).size());
  return legalize_moved(call, deduce_repeat(call), [&](const Dims&, const std::vector<Var>& i) {
    Index index(i.begin(), i.end());
    index[axis] = floordiv(index[axis], std::max<int64_t>(1, call.integer("repeats")));
    return index;
  });
}

bool generate_repeat(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  if (shape.empty()) return false;
  keep_moderate(shape, 1024);
  call.attrs["repeats"] = rng.between(rng.chance(0.1) ? 0 : 1, 4);
  call.attrs["axis"] = random_axis(shape.size(), rng);
  return true;
}

// ---- swap_axes and move_axis

// The permutation that the operator performs.
std::vector<int64_t> axis_order(const CallView& call, int ndim) {
  std::vector<int64_t> order(static_cast<size_t>(ndim));
  std::iota(order.begin(), order.end(), 0);
  bool swaps = call.info.name == std::string("swap_axes");
  int64_t from = normalized_axis(call, call.integer(swaps ? "axis1" : "source"), ndim);
  int64_t to = normalized_axis(call, call.integer(swaps ? "axis2" : "destination"), ndim);
  if (swaps) {
    std::swap(order[from], order[to]);
  } else {
    order.erase(order.begin() + from);
    order.insert(order.begin() + to, from);
  }
  return order;
}

relax::Annotation deduce_axis_order(const CallView& call) {
  Known x = known_tensor(call, 0);
  if (x.ndim == relax::kUnknownNdim) return tensor_result(x);
  std::vector<int64_t> order = axis_order(call, x.ndim);
  if (x.shape) {
    Dims dims;
    for (int64_t axis : order) dims.push_back((*x.shape)[axis]);
    x.shape = dims;
  }
  return tensor_result(x);
}

tir::PrimFuncRef legalize_axis_order(const CallView& call) {
  std::vector<int64_t> order = axis_order(call, static_cast<int>(call.shape(0).size()));
  return legalize_moved(call, deduce_axis_order(call), [&](const Dims&, const std::vector<Var>& i) {
    Index index(i.size());
    for (size_t d = 0; d < i.size(); ++d) index[order[d]] = i[d];
    return index;
  });
}

bool generate_axis_order(GeneratedCall& call, RandomStream& rng, const char* first,
                         const char* second) {
  Shape& shape = call.args[0].tensors[0].shape;
  if (shape.empty()) return false;
  keep_moderate(shape, 4096);
  call.attrs[first] = random_axis(shape.size(), rng);
  call.attrs[second] = random_axis(shape.size(), rng);
  return true;
}

bool generate_swap_axes(GeneratedCall& call, RandomStream& rng) {
  return generate_axis_order(call, rng, "axis1", "axis2");
}

bool generate_move_axis(GeneratedCall& call, RandomStream& rng) {
  return generate_axis_order(call, rng, "source", "destination");
}

struct Rules {
  DeduceRule deduce;
  LegalizeRule legalize;
  ReferenceRule reference;
  GenerateRule generate;
  DecomposeRule decompose = nullptr;
};

OperatorInfo arranging(const char* name, const char* doc, std::vector<ArgumentSpec> args,
                       std::vector<AttributeSpec> attrs, const Rules& rules, int least_rank = 0) {
  std::vector<int> ranks;
  for (int rank = least_rank; rank <= 4; ++rank) ranks.push_back(rank);
  return {.name = name,
          .doc = doc,
          .args = std::move(args),
          .attrs = std::move(attrs),
          .inout = {},
          .deduce = rules.deduce,
          .legalize = rules.legalize,
          .reference = rules.reference,
          .generator = {std::move(ranks), all_dtypes(), -100, 100, rules.generate},
          .decompose = rules.decompose};
}

}  // namespace

std::span<const OperatorInfo> arrange_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    const ArgumentSpec x = {"x", ArgumentKind::kTensor, "any shape and dtype"};
    auto axis = [](const char* name, const char* doc) {
      return AttributeSpec{name, AttributeKind::kInt, true, {}, doc};
    };
    return std::vector<OperatorInfo>{
        arranging("expand_dims", "x with dimensions of extent 1 inserted at the given axes.", {x},
                  {{"axes",
                    AttributeKind::kInts,
                    true,
                    {},
                    "where the new dimensions are in the result; negative from its end"}},
                  {deduce_expand_dims, legalize_expand_dims, reference::same_elements,
                   generate_expand_dims, as_reshape}),
        arranging("squeeze", "x without the given dimensions, which have extent 1.", {x},
                  {{"axes", AttributeKind::kInts, true, {}, "axes to drop; negative from the end"}},
                  {deduce_squeeze, legalize_squeeze, reference::same_elements, generate_squeeze,
                   as_reshape},
                  1),
        arranging("flatten",
                  "x with the dimensions from start_axis to end_axis, both included, merged into "
                  "one; a tensor of rank 0 becomes one of rank 1.",
                  {x},
                  {{"start_axis", AttributeKind::kInt, false, int64_t{0}, "first axis"},
                   {"end_axis", AttributeKind::kInt, false, int64_t{-1}, "last axis"}},
                  {deduce_flatten, legalize_flatten, reference::same_elements, generate_flatten,
                   as_reshape}),
        arranging("broadcast_to",
                  "x repeated along dimensions of extent 1 and along new leading dimensions.",
                  {x,
                   {"shape", ArgumentKind::kShape,
                    "the result's; its last dimensions are x's where those are not 1"}},
                  {},
                  {deduce_broadcast_to, legalize_broadcast_to, reference::broadcast_to,
                   generate_broadcast_to}),
        arranging("flip", "x with the order along the given axes reversed.", {x},
                  {{"axes", AttributeKind::kInts, false, Ints(), "distinct axes; empty: all"}},
                  {deduce_flip, legalize_flip, reference::flip, generate_flip}),
        arranging("roll",
                  "x with its elements shifted along axes; elements that leave at one end enter at "
                  "the other. Without axes all elements are shifted in row-major order.",
                  {x},
                  {{"shifts",
                    AttributeKind::kInts,
                    true,
                    {},
                    "steps toward higher indices, one per axis (one if there are no axes)"},
                   {"axes", AttributeKind::kInts, false, Ints(), "distinct axes"}},
                  {deduce_roll, legalize_roll, reference::roll, generate_roll}),
        arranging("tile",
                  "Copies of x side by side: dimension i is repeats[i] times as long. x and "
                  "repeats are filled up with leading ones to the same rank.",
                  {x}, {{"repeats", AttributeKind::kInts, true, {}, "copies along each dimension"}},
                  {deduce_tile, legalize_tile, reference::tile, generate_tile}),
        arranging("repeat", "Every element of x repeated along an axis.", {x},
                  {{"repeats", AttributeKind::kInt, true, {}, "copies of each element"},
                   axis("axis", "negative from the end")},
                  {deduce_repeat, legalize_repeat, reference::repeat, generate_repeat}, 1),
        arranging(
            "swap_axes", "x with two axes exchanged.", {x},
            {axis("axis1", "one axis"), axis("axis2", "the other")},
            {deduce_axis_order, legalize_axis_order, reference::swap_axes, generate_swap_axes}, 1),
        arranging(
            "move_axis", "x with one axis moved to another place; the others keep their order.",
            {x}, {axis("source", "the axis"), axis("destination", "its place in the result")},
            {deduce_axis_order, legalize_axis_order, reference::move_axis, generate_move_axis}, 1),
    };
  }();
  return kOperators;
}

}  // namespace tapml::op
