// Sums, means, maxima and argmax over axes.
#include <algorithm>

#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

// Axes of a reduction call: attribute "axes", or the single "axis" of argmax.
std::vector<int64_t> reduced_axes(const CallView& call, int ndim) {
  if (const auto* axis = find_attr<int64_t>(call.attrs, "axis")) {
    return {normalized_axis(call, *axis, ndim)};
  }
  return normalized_axes(call, call.integers("axes"), ndim);
}

bool contains(const std::vector<int64_t>& axes, size_t axis) {
  return std::find(axes.begin(), axes.end(), static_cast<int64_t>(axis)) != axes.end();
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

relax::Annotation deduce_number(const CallView& call) {
  if (known_tensor(call, 0).dtype == DType::kBool) {
    call.error("bool is not a number", "a float or integer dtype");
  }
  return tensor_result(reduced(call));
}

relax::Annotation deduce_float(const CallView& call) {
  expect_float(call, 0);
  return tensor_result(reduced(call));
}

relax::Annotation deduce_argmax(const CallView& call) {
  Known x = known_tensor(call, 0);
  Known result = reduced(call);
  if (x.shape) {
    const PrimExpr& extent = (*x.shape)[reduced_axes(call, x.ndim)[0]];
    if (extent.is_int(0)) call.error("the axis has no elements", "at least one element", "0");
  }
  result.dtype = DType::kI32;
  return tensor_result(result);
}

// What the loops of a reduction share.
struct Plan {
  std::vector<int64_t> axes;
  Dims extents;
  Dims out_shape;
  bool keep;

  explicit Plan(const CallView& call)
      : axes(reduced_axes(call, call.tensor(0).ndim)),
        out_shape(*reduced(call).shape),
        keep(call.flag("keepdims")) {
    Dims shape = call.shape(0);
    for (int64_t axis : axes) extents.push_back(shape[axis]);
  }

  // Index into x for output index i and reduction index r.
  std::vector<PrimExpr> index(const std::vector<Var>& i, const std::vector<Var>& r) const {
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
};

tir::PrimFuncRef reduction(const CallView& call, bool maximum,
                           const std::function<PrimExpr(PrimExpr)>& finish = {}) {
  Lowering lowering(call);
  Plan plan(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", plan.out_shape, x->dtype);
  DType compute = maximum ? x->dtype : accumulation_dtype(x->dtype);
  add_reduction(
      lowering, call.info.name, out, compute, plan.extents,
      maximum ? lowest(compute) : number(0, compute), maximum ? max_of : sum_of,
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        return cast(compute, tir::load(x, plan.index(i, r)));
      },
      finish);
  return lowering.finish();
}

tir::PrimFuncRef legalize_sum(const CallView& call) { return reduction(call, false); }
tir::PrimFuncRef legalize_max(const CallView& call) { return reduction(call, true); }
tir::PrimFuncRef legalize_mean(const CallView& call) {
  PrimExpr count = product(Plan(call).extents);
  return reduction(call, false, [&](PrimExpr total) {
    PrimExpr divisor = count.is_int() ? number(static_cast<double>(count->int_value), total.dtype())
                                      : cast(total.dtype(), count);
    return fdiv(total, divisor);
  });
}

// The maximum first, then the lowest index that has it.
tir::PrimFuncRef legalize_argmax(const CallView& call) {
  Lowering lowering(call);
  Plan plan(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", plan.out_shape, DType::kI32);
  tir::Buffer best = lowering.workspace("best", plan.out_shape, x->dtype);
  lowering.add(tir::reduce("argmax_value", best, plan.extents, lowest(x->dtype), max_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             return tir::load(x, plan.index(i, r));
                           }));
  // Starts at the last index, so that rows of NaN still give a valid one.
  PrimExpr last = cast(DType::kI32, plan.extents[0] - 1);
  if (plan.extents[0].is_int()) last = make_int(plan.extents[0]->int_value - 1, DType::kI32);
  lowering.add(tir::reduce(
      "argmax_index", out, plan.extents, last,
      [](PrimExpr a, PrimExpr b) { return min(std::move(a), std::move(b)); },
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        PrimExpr same = eq(tir::load(x, plan.index(i, r)), tir::load(best, i));
        return select(same, cast(DType::kI32, r[0]), last);
      }));
  return lowering.finish();
}

OperatorInfo over_axes(const char* name, const char* doc, DeduceRule deduce, LegalizeRule legalize,
                       ReferenceRule reference) {
  return {.name = name,
          .doc = doc,
          .args = {{"x", ArgumentKind::kTensor, "any shape"}},
          .attrs = {{"axes", AttributeKind::kInts, false, std::vector<int64_t>(),
                     "axes to reduce, negative from the end; empty: all"},
                    {"keepdims", AttributeKind::kBool, false, false,
                     "reduced dimensions stay, with extent 1"}},
          .inout = {},
          .deduce = deduce,
          .legalize = legalize,
          .reference = reference,
          .generator = {{1, 2, 3}, {DType::kF32, DType::kF16, DType::kBF16}}};
}

OperatorInfo argmax_operator() {
  OperatorInfo info = over_axes(
      "argmax",
      "Index of the largest element along one axis, i32; the lowest index where several are equal; "
      "unspecified in range where a NaN is among them.",
      deduce_argmax, legalize_argmax, reference::argmax);
  info.attrs[0] = {"axis", AttributeKind::kInt, false, int64_t{-1}, "axis, negative from the end"};
  return info;
}

}  // namespace

std::span<const OperatorInfo> reduction_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      over_axes("sum", "Sum over axes, kept in f32 for narrower floats; 0 of no elements.",
                deduce_number, legalize_sum, reference::sum),
      over_axes("mean", "Sum over axes divided by the number of elements, floats.", deduce_float,
                legalize_mean, reference::mean),
      over_axes("max",
                "Largest element over axes; the lowest value of the dtype for no elements; "
                "unspecified where one is NaN.",
                deduce_number, legalize_max, reference::max),
      argmax_operator(),
  };
  return kOperators;
}

}  // namespace tapml::op
