// Reductions of several steps: positions of extrema, variance, logsumexp.
#include "op/elementwise.h"
#include "op/families.h"
#include "op/reduce.h"
#include "op/reference/reduction.h"

namespace tapml::op {

namespace {

relax::Annotation deduce_position(const CallView& call) {
  expect_number(call, 0);
  expect_min_ndim(call, 0, 1);
  Known x = known_tensor(call, 0);
  Known result = reduced(call);
  if (x.shape) {
    const PrimExpr& extent = (*x.shape)[static_cast<size_t>(reduced_axes(call, x.ndim)[0])];
    if (extent.is_int(0)) call.error("the axis has no elements", "at least one element", "0");
    expect_at_least(call, extent, 1, "the extent of the axis");
    expect_counted(call, extent, "the extent of the axis");
  }
  result.dtype = DType::kI32;
  return tensor_result(result);
}

// The extremum first, then the lowest index that has it (or that is NaN, if the extremum is NaN).
tir::PrimFuncRef position(const CallView& call, const PrimExpr& init, BinaryFunction extremum) {
  Lowering lowering(call);
  ReductionPlan plan(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", plan.out_shape, DType::kI32);
  tir::Buffer best = lowering.workspace("best", plan.out_shape, x->dtype);
  std::string name = call.info.name;
  lowering.add(tir::reduce(name + "_value", best, plan.extents, init, extremum,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             return tir::load(x, plan.index(i, r));
                           }));
  // Starts at the last index; any valid index would do.
  PrimExpr last = cast(DType::kI32, plan.extents[0] - 1);
  if (plan.extents[0].is_int()) last = make_int(plan.extents[0]->int_value - 1, DType::kI32);
  lowering.add(tir::reduce(
      name + "_index", out, plan.extents, last,
      [](PrimExpr a, PrimExpr b) { return min(std::move(a), std::move(b)); },
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        PrimExpr element = tir::load(x, plan.index(i, r));
        PrimExpr same = eq(element, tir::load(best, i));
        if (is_float(x->dtype))
          same = logical_or(same, make_call("isnan", DType::kBool, {element}));
        return select(same, cast(DType::kI32, r[0]), last);
      }));
  return lowering.finish();
}

tir::PrimFuncRef legalize_argmax(const CallView& call) {
  return position(call, lowest(call.dtype(0)),
                  [](PrimExpr a, PrimExpr b) { return max(std::move(a), std::move(b)); });
}
tir::PrimFuncRef legalize_argmin(const CallView& call) {
  return position(call, highest(call.dtype(0)),
                  [](PrimExpr a, PrimExpr b) { return min(std::move(a), std::move(b)); });
}

bool generate_position(GeneratedCall& call, RandomStream& rng) {
  const Shape& shape = call.args[0].tensors[0].shape;
  int64_t axis = random_axis(shape.size(), rng);
  call.attrs["axis"] = axis;
  call.attrs["keepdims"] = rng.chance(0.5);
  return shape[static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(shape.size()) : axis)] >
         0;
}

OperatorInfo position_operator(const char* name, const char* doc, LegalizeRule legalize,
                               ReferenceRule reference) {
  OperatorInfo info = axes_operator(name, doc, "at least one dimension, a number", deduce_position,
                                    legalize, reference, number_dtypes());
  info.attrs[0] = {"axis", AttributeKind::kInt, false, int64_t{-1}, "axis, negative from the end"};
  info.generator.ranks = {1, 2, 3, 4};
  info.generator.rule = generate_position;
  return info;
}

// Two passes: the mean, then the squared deviations.
tir::PrimFuncRef legalize_variance(const CallView& call) {
  Lowering lowering(call);
  ReductionPlan plan(call);
  const tir::Buffer& x = lowering.arg(0);
  DType compute = accumulation_dtype(x->dtype);
  tir::Buffer out = lowering.output("out", plan.out_shape, x->dtype);
  tir::Buffer mean = lowering.workspace("mean", plan.out_shape, compute);
  PrimExpr zero = number(0, compute), count = plan.count(compute);
  add_reduction(
      lowering, "variance_mean", mean, compute, plan.extents, zero, sum_of,
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        return load_wide(x, plan.index(i, r));
      },
      [&](PrimExpr total) { return fdiv(std::move(total), count); });
  PrimExpr divisor =
      max(count - number(static_cast<double>(call.integer("correction")), compute), zero);
  add_reduction(
      lowering, "variance", out, compute, plan.extents, zero, sum_of,
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        return bind("d", load_wide(x, plan.index(i, r)) - tir::load(mean, i),
                    [](const PrimExpr& d) { return d * d; });
      },
      [&](PrimExpr total) { return fdiv(std::move(total), divisor); });
  return lowering.finish();
}

relax::Annotation deduce_variance(const CallView& call) {
  if (call.integer("correction") < 0) {
    call.error("correction is negative", "0 or more", std::to_string(call.integer("correction")));
  }
  return deduce_reduced_float(call);
}

// Exponentials of differences from the largest element, so that none overflows.
tir::PrimFuncRef legalize_logsumexp(const CallView& call) {
  Lowering lowering(call);
  ReductionPlan plan(call);
  const tir::Buffer& x = lowering.arg(0);
  DType compute = accumulation_dtype(x->dtype);
  tir::Buffer out = lowering.output("out", plan.out_shape, x->dtype);
  tir::Buffer peak = lowering.workspace("peak", plan.out_shape, compute);
  // Avoids inf - inf for an infinite peak.
  add_reduction(
      lowering, "logsumexp_max", peak, compute, plan.extents, lowest(compute), max_of,
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        return load_wide(x, plan.index(i, r));
      },
      [&](PrimExpr most) {
        return bind("m", std::move(most), [&](const PrimExpr& m) {
          return select(make_call("isinf", DType::kBool, {m}), number(0, compute), m);
        });
      });
  tir::Buffer total = lowering.workspace("total", plan.out_shape, compute);
  lowering.add(tir::reduce("logsumexp_sum", total, plan.extents, number(0, compute), sum_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             return intrinsic("exp",
                                              load_wide(x, plan.index(i, r)) - tir::load(peak, i));
                           }));
  lowering.add(tir::compute("logsumexp", out, [&](const std::vector<Var>& i) {
    return cast(out->dtype, intrinsic("log", tir::load(total, i)) + tir::load(peak, i));
  }));
  return lowering.finish();
}

}  // namespace

std::span<const OperatorInfo> statistics_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    std::vector<OperatorInfo> list = {
        position_operator("argmax",
                          "Index of the largest element along one axis of at most 2^31 - 1 "
                          "elements, i32; the lowest index where several are equal; that of the "
                          "first NaN where there is one.",
                          legalize_argmax, reference::argmax),
        position_operator("argmin",
                          "Index of the smallest element along one axis of at most 2^31 - 1 "
                          "elements, i32; the lowest index where several are equal; that of the "
                          "first NaN where there is one.",
                          legalize_argmin, reference::argmin),
        axes_operator("variance",
                      "Mean over axes of the squared distance from the mean, divided by n - "
                      "correction instead of n (by 0 where that is negative): 1 makes it unbiased.",
                      "any shape, float", deduce_variance, legalize_variance, reference::variance,
                      float_dtypes()),
        axes_operator("logsumexp",
                      "Logarithm of the sum over axes of exp(x), without overflow in between; -inf "
                      "for no elements.",
                      "any shape, float", deduce_reduced_float, legalize_logsumexp,
                      reference::logsumexp, float_dtypes()),
    };
    list[2].attrs.push_back({"correction", AttributeKind::kInt, false, int64_t{0},
                             "taken from the number of elements, 0 or more"});
    return list;
  }();
  return kOperators;
}

}  // namespace tapml::op
