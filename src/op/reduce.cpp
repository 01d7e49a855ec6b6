#include "op/reduce.h"

#include <algorithm>

namespace tapml::op {

namespace {

bool contains(const std::vector<int64_t>& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
}

bool generate_axes(GeneratedCall& call, RandomStream& rng) {
  Shape& shape = call.args[0].tensors[0].shape;
  // Even if one invocation passes over all elements twice, this stays below the 65,535 steps after
  // which Mesa's lavapipe exits every loop.
  keep_moderate(shape, 30'000);
  auto rank = static_cast<int64_t>(shape.size());
  std::vector<int64_t> axes;
  for (int64_t axis = 0; axis < rank; ++axis) {
    if (rng.chance(0.5)) axes.push_back(rng.chance(0.5) ? axis : axis - rank);
  }
  call.attrs["axes"] = axes;
  call.attrs["keepdims"] = rng.chance(0.5);
  return true;
}

}  // namespace

std::vector<int64_t> reduced_axes(const CallView& call, int ndim) {
  if (const auto* axis = find_attr<int64_t>(call.attrs, "axis")) {
    return {normalized_axis(call, *axis, ndim)};
  }
  return normalized_axes(call, call.integers("axes"), ndim);
}

Known reduced(const CallView& call) {
  Known x = known_tensor(call, 0);
  if (x.ndim == relax::kUnknownNdim) {
    return {std::nullopt, relax::kUnknownNdim, x.dtype};
  }
  std::vector<int64_t> axes = reduced_axes(call, x.ndim);
  bool keep = call.flag("keepdims");
  Known result{std::nullopt, keep ? x.ndim : x.ndim - static_cast<int>(axes.size()), x.dtype};
  if (!x.shape) return result;
  result.shape.emplace();
  for (size_t i = 0; i < x.shape->size(); ++i) {
    if (!contains(axes, i)) {
      result.shape->push_back((*x.shape)[i]);
    } else if (keep) {
      result.shape->push_back(1);
    }
  }
  return result;
}

relax::Annotation deduce_reduced_number(const CallView& call) {
  expect_number(call, 0);
  return tensor_result(reduced(call));
}

relax::Annotation deduce_reduced_float(const CallView& call) {
  expect_float(call, 0);
  return tensor_result(reduced(call));
}

ReductionPlan::ReductionPlan(const CallView& call)
    : axes(reduced_axes(call, call.tensor(0).ndim)),
      out_shape(*reduced(call).shape),
      keep(call.flag("keepdims")) {
  Dims shape = call.shape(0);
  for (int64_t axis : axes) extents.push_back(shape[static_cast<size_t>(axis)]);
}

std::vector<PrimExpr> ReductionPlan::index(const std::vector<Var>& i,
                                           const std::vector<Var>& r) const {
  std::vector<PrimExpr> result;
  size_t rank = keep ? i.size() : i.size() + r.size();
  size_t next_out = 0, next_reduced = 0;
  for (size_t axis = 0; axis < rank; ++axis) {
    bool is_reduced = contains(axes, axis);
    result.push_back(is_reduced ? r[next_reduced++] : i[next_out]);
    if (!is_reduced || keep) ++next_out;
  }
  return result;
}

PrimExpr count_of(const PrimExpr& extent, DType dtype) {
  return extent.is_int() ? number(static_cast<double>(extent->int_value), dtype)
                         : cast(dtype, extent);
}

PrimExpr ReductionPlan::count(DType dtype) const { return count_of(product(extents), dtype); }

OperatorInfo axes_operator(const char* name, const char* doc, const char* accepts,
                           DeduceRule deduce, LegalizeRule legalize, ReferenceRule reference,
                           std::vector<DType> dtypes) {
  return {.name = name,
          .doc = doc,
          .args = {{"x", ArgumentKind::kTensor, accepts}},
          .attrs = {{"axes", AttributeKind::kInts, false, std::vector<int64_t>(),
                     "axes to reduce, negative from the end; empty: all"},
                    {"keepdims", AttributeKind::kBool, false, false,
                     "reduced dimensions stay, with extent 1"}},
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference,
          .generator = {{0, 1, 2, 3, 4}, std::move(dtypes), -4, 4, generate_axes}};
}

}  // namespace tapml::op
