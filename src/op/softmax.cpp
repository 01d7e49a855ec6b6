// Softmax and its logarithm along an axis.
#include "op/dtypes.h"
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/normalization.h"

namespace tapml::op {

namespace {

relax::Annotation deduce_softmax(const CallView& call) {
  expect_float(call, 0);
  expect_min_ndim(call, 0, 1);
  Known x = known_tensor(call, 0);
  if (x.ndim != relax::kUnknownNdim) normalized_axis(call, call.integer("axis"), x.ndim);
  return tensor_result(x);
}

// The axis and the loops around it.
struct Rows {
  std::ptrdiff_t axis;
  Dims shape;    // without the axis
  Dims extents;  // the axis alone

  Rows(const CallView& call, const tir::Buffer& x)
      : axis(static_cast<std::ptrdiff_t>(
            normalized_axis(call, call.integer("axis"), static_cast<int>(x->shape.size())))),
        shape(x->shape),
        extents{x->shape[static_cast<size_t>(axis)]} {
    shape.erase(shape.begin() + axis);
  }
  // Row of the element at index i, and the element r of row i.
  std::vector<PrimExpr> row_of(const std::vector<Var>& i) const {
    std::vector<PrimExpr> row(i);
    row.erase(row.begin() + axis);
    return row;
  }
  std::vector<PrimExpr> point(const std::vector<Var>& i, const std::vector<Var>& r) const {
    std::vector<PrimExpr> index(i);
    index.insert(index.begin() + axis, r[0]);
    return index;
  }
};

// The largest element of each row.
tir::Buffer add_peak(Lowering& lowering, const CallView& call, const Rows& rows) {
  const tir::Buffer& x = lowering.arg(0);
  DType compute = accumulation_dtype(x->dtype);
  tir::Buffer peak = lowering.workspace("peak", rows.shape, compute);
  lowering.add(tir::reduce(std::string(call.info.name) + "_max", peak, rows.extents,
                           lowest(compute), max_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             return load_wide(x, rows.point(i, r));
                           }));
  return peak;
}

tir::PrimFuncRef legalize_softmax(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  Rows rows(call, x);
  tir::Buffer peak = add_peak(lowering, call, rows);
  tir::Buffer exps = lowering.workspace("exps", x->shape, compute);
  tir::Buffer total = lowering.workspace("total", rows.shape, compute);
  lowering.add(tir::compute("softmax_exp", exps, [&](const std::vector<Var>& i) {
    return make_call("exp", compute, {load_wide(x, i) - tir::load(peak, rows.row_of(i))});
  }));
  lowering.add(tir::reduce("softmax_sum", total, rows.extents, number(0, compute), sum_of,
                           [&](const std::vector<Var>& i, const std::vector<Var>& r) {
                             return tir::load(exps, rows.point(i, r));
                           }));
  // One division per row: dividing every element would cost as much as its exponential.
  lowering.add(tir::compute("softmax", out, [&](const std::vector<Var>& i) {
    PrimExpr share = fdiv(number(1, compute), tir::load(total, rows.row_of(i)));
    return cast(out->dtype, tir::load(exps, i) * share);
  }));
  return lowering.finish();
}

// The exponentials are only summed, so they are not stored.
tir::PrimFuncRef legalize_log_softmax(const CallView& call) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  Rows rows(call, x);
  tir::Buffer peak = add_peak(lowering, call, rows);
  tir::Buffer total = lowering.workspace("log_total", rows.shape, compute);
  add_reduction(
      lowering, "log_softmax_sum", total, compute, rows.extents, number(0, compute), sum_of,
      [&](const std::vector<Var>& i, const std::vector<Var>& r) {
        PrimExpr shifted =
            load_wide(x, rows.point(i, r)) - tir::load(peak, std::vector<PrimExpr>(i));
        return make_call("exp", compute, {shifted});
      },
      [&](PrimExpr sum) { return make_call("log", compute, {std::move(sum)}); });
  lowering.add(tir::compute("log_softmax", out, [&](const std::vector<Var>& i) {
    std::vector<PrimExpr> row = rows.row_of(i);
    PrimExpr shifted = load_wide(x, i) - tir::load(peak, row);
    return cast(out->dtype, shifted - tir::load(total, row));
  }));
  return lowering.finish();
}

bool generate_axis(GeneratedCall& call, RandomStream& rng) {
  call.attrs["axis"] = random_axis(call.args[0].tensors[0].shape.size(), rng);
  return true;
}

OperatorInfo softmax_entry(const char* name, const char* doc, LegalizeRule legalize,
                           ReferenceRule reference) {
  return {.name = name,
          .doc = doc,
          .args = {{"x", ArgumentKind::kTensor, "at least one dimension, float"}},
          .attrs = {{"axis", AttributeKind::kInt, false, int64_t{-1}, "negative from the end"}},
          .inout = {},
          .deduce = deduce_softmax,
          .legalize = legalize,
          .reference = reference,
          .generator = {{1, 2, 3, 4}, float_dtypes(), -8, 8, generate_axis}};
}

}  // namespace

std::span<const OperatorInfo> softmax_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      softmax_entry("softmax", "exp(x - max) divided by its sum along one axis, computed in f32.",
                    legalize_softmax, reference::softmax),
      softmax_entry(
          "log_softmax",
          "The logarithm of softmax: x - max - log(sum of exp(x - max)), computed in f32.",
          legalize_log_softmax, reference::log_softmax),
  };
  return kOperators;
}

}  // namespace tapml::op
