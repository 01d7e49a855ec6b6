// Operators that join tensors.
#include <algorithm>

#include "op/dtypes.h"
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/arrange.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

using Index = std::vector<PrimExpr>;

// The tensors to join: their common dtype and rank where known, and the shape that `join` makes by
// adding the other shapes to the first in turn. std::nullopt if they are not written as a tuple.
template <class F>
std::optional<Known> joined_tensors(const CallView& call, F&& join) {
  const auto* tuple = relax::as_tuple(call.annotations[0]);
  if (!tuple) return std::nullopt;
  if (tuple->fields.empty()) call.error("there are no tensors", "at least one tensor", "none");
  Known result = known_tensor(call, tuple->fields[0], "tensor 0");
  for (size_t f = 1; f < tuple->fields.size(); ++f) {
    std::string what = "tensor " + std::to_string(f);
    Known next = known_tensor(call, tuple->fields[f], what);
    if (result.dtype && next.dtype && *result.dtype != *next.dtype) {
      call.error(what + " has a different dtype than tensor 0", dtype_name(*result.dtype),
                 dtype_name(*next.dtype));
    }
    if (result.ndim != relax::kUnknownNdim && next.ndim != relax::kUnknownNdim &&
        result.ndim != next.ndim) {
      call.error(what + " has a different rank than tensor 0",
                 std::to_string(result.ndim) + " dimensions", std::to_string(next.ndim));
    }
    if (!result.dtype) result.dtype = next.dtype;
    if (result.ndim == relax::kUnknownNdim) result.ndim = next.ndim;
    join(result, next, what);
  }
  return result;
}

relax::Annotation nothing_known() {
  return relax::tensor_annotation_ndim(relax::kUnknownNdim, std::nullopt);
}

void expect_equal_dim(const CallView& call, const Known& result, const Known& next, size_t d,
                      const std::string& what) {
  expect_same_dim(call, (*result.shape)[d], (*next.shape)[d],
                  std::to_string(d) + " of tensor 0 and " + what);
}

// ---- concat

relax::Annotation deduce_concat(const CallView& call) {
  // Simplify after this many terms: simplifying takes time linear in the sum, and an unsimplified
  // sum nests as deep as the number of operands.
  constexpr int kAtATime = 32;
  std::optional<size_t> joined;
  int unsimplified = 0;
  auto result = joined_tensors(call, [&](Known& all, const Known& next, const std::string& what) {
    if (!all.shape || !next.shape) return all.shape.reset();
    auto axis = static_cast<size_t>(normalized_axis(call, call.integer("axis"), all.ndim));
    for (size_t d = 0; d < all.shape->size(); ++d) {
      if (d != axis) expect_equal_dim(call, all, next, d, what);
    }
    PrimExpr& sum = (*all.shape)[axis];
    sum = sum + (*next.shape)[axis];
    joined = axis;
    if (++unsimplified < kAtATime) return;
    sum = simplified(sum);
    unsimplified = 0;
  });
  if (!result) return nothing_known();
  if (result->shape && joined) (*result->shape)[*joined] = simplified((*result->shape)[*joined]);
  if (result->ndim != relax::kUnknownNdim) {
    normalized_axis(call, call.integer("axis"), result->ndim);
  }
  return tensor_result(*result);
}

tir::PrimFuncRef legalize_concat(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_concat(call));
  auto axis = static_cast<size_t>(
      normalized_axis(call, call.integer("axis"), static_cast<int>(result.shape->size())));
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  lowering.add(tir::compute("concat", out, [&](const std::vector<Var>& i) {
    size_t count = lowering.field_count(0);
    Dims starts = {0};
    for (size_t f = 0; f < count; ++f) {
      starts.push_back(starts[f] + lowering.arg(0, f)->shape[axis]);
    }
    PrimExpr value;
    for (size_t f = count; f-- > 0;) {
      Index index(i);
      index[axis] = index[axis] - starts[f];
      PrimExpr element = tir::load(lowering.arg(0, f), index);
      value = value ? select(lt(i[axis], starts[f + 1]), element, value) : element;
    }
    return value;
  }));
  return lowering.finish();
}

bool generate_concat(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 4096);
  auto rank = static_cast<int64_t>(shape.size());
  if (rank == 0) return false;
  int64_t axis = random_axis(static_cast<size_t>(rank), rng);
  int64_t others = rng.between(0, 4);
  for (int64_t i = 0; i < others; ++i) {
    GeneratedTensor next = call.args[0].tensors[0];
    next.shape[static_cast<size_t>(axis < 0 ? axis + rank : axis)] = rng.between(0, 5);
    call.args[0].tensors.push_back(next);
  }
  call.attrs["axis"] = axis;
  return true;
}

// ---- stack

relax::Annotation deduce_stack(const CallView& call) {
  auto result = joined_tensors(call, [&](Known& all, const Known& next, const std::string& what) {
    if (!all.shape) all.shape = next.shape;
    if (!all.shape || !next.shape) return;
    for (size_t d = 0; d < all.shape->size(); ++d) expect_equal_dim(call, all, next, d, what);
  });
  if (!result) return nothing_known();
  if (result->ndim == relax::kUnknownNdim) return tensor_result(*result);
  ++result->ndim;
  int64_t axis = normalized_axis(call, call.integer("axis"), result->ndim);
  if (result->shape) {
    auto count = static_cast<int64_t>(relax::as_tuple(call.annotations[0])->fields.size());
    result->shape->insert(result->shape->begin() + axis, PrimExpr(count));
  }
  return tensor_result(*result);
}

tir::PrimFuncRef legalize_stack(const CallView& call) {
  Lowering lowering(call);
  relax::TensorAnnotation result = known_result(call, deduce_stack(call));
  auto axis = static_cast<size_t>(
      normalized_axis(call, call.integer("axis"), static_cast<int>(result.shape->size())));
  tir::Buffer out = lowering.output("out", *result.shape, *result.dtype);
  lowering.add(tir::compute("stack", out, [&](const std::vector<Var>& i) {
    Index index(i.begin(), i.end());
    index.erase(index.begin() + static_cast<std::ptrdiff_t>(axis));
    PrimExpr value;
    for (size_t f = lowering.field_count(0); f-- > 0;) {
      PrimExpr element = tir::load(lowering.arg(0, f), index);
      value = value ? select(eq(i[axis], static_cast<int64_t>(f)), element, value) : element;
    }
    return value;
  }));
  return lowering.finish();
}

// A kernel takes few operands; wide stacks become concats, which can be split into chains.
constexpr size_t kStackOperands = 5;

relax::Expr decompose_stack(const CallView& call, BindingSink& sink) {
  const auto* tuple = relax::as<relax::TupleNode>(call.args[0]);
  if (!tuple || tuple->fields.size() <= kStackOperands) return nullptr;
  relax::Annotation annotation = deduce_stack(call);
  const auto* result = relax::as_tensor(annotation);
  if (!result || result->ndim == relax::kUnknownNdim) return nullptr;
  int64_t axis = normalized_axis(call, call.integer("axis"), result->ndim);
  std::vector<relax::Expr> parts;
  for (const relax::Expr& field : tuple->fields) {
    const relax::Annotation known = annotation_of(field);
    const auto* tensor = relax::as_tensor(known);
    if (!tensor || !tensor->shape) return nullptr;
    Dims dims = *tensor->shape;
    dims.insert(dims.begin() + axis, PrimExpr(1));
    parts.push_back(
        sink.emit(relax::make_op_call("reshape", {field, relax::make_shape(dims)}), "stacked"));
  }
  return sink.emit(
      relax::make_op_call("concat", {relax::make_tuple(std::move(parts))}, {{"axis", axis}}),
      "stack");
}

bool generate_stack(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  keep_moderate(shape, 1024);
  call.attrs["axis"] = random_axis(shape.size() + 1, rng);
  int64_t others = rng.chance(0.3) ? rng.between(5, 9) : rng.between(0, 4);
  for (int64_t i = 0; i < others; ++i) call.args[0].tensors.push_back(call.args[0].tensors[0]);
  return true;
}

OperatorInfo joining(const char* name, const char* doc, AttributeSpec axis, DeduceRule deduce,
                     LegalizeRule legalize, ReferenceRule reference, GenerateRule generate,
                     DecomposeRule decompose = nullptr) {
  return {.name = name,
          .doc = doc,
          .args = {{"xs", ArgumentKind::kTensors, "at least one tensor"}},
          .attrs = {std::move(axis)},
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference,
          .generator = {{0, 1, 2, 3, 4}, all_dtypes(), -100, 100, generate},
          .decompose = decompose};
}

}  // namespace

std::span<const OperatorInfo> join_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    auto axis = [](const char* doc) {
      return AttributeSpec{"axis", AttributeKind::kInt, true, {}, doc};
    };
    return std::vector<OperatorInfo>{
        joining("concat",
                "Tensors of one dtype joined along an axis; their other dimensions agree.",
                axis("negative from the end"), deduce_concat, legalize_concat, reference::concat,
                generate_concat),
        joining("stack", "Tensors of one shape and dtype joined along a new axis.",
                axis("of the result; negative from its end"), deduce_stack, legalize_stack,
                reference::stack, generate_stack, decompose_stack),
    };
  }();
  return kOperators;
}

}  // namespace tapml::op
