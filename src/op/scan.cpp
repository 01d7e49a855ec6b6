// Running sums and products along an axis.
#include "op/reference/scan.h"

#include "op/elementwise.h"
#include "op/families.h"

namespace tapml::op {

namespace {

relax::Annotation deduce_scan(const CallView& call) {
  expect_number(call, 0);
  expect_min_ndim(call, 0, 1);
  Known x = known_tensor(call, 0);
  if (x.ndim != relax::kUnknownNdim) normalized_axis(call, call.integer("axis"), x.ndim);
  return tensor_result(x);
}

// Rows are independent; along a row each element depends on the previous one.
tir::PrimFuncRef scan(const CallView& call, double identity, BinaryFunction combine) {
  Lowering lowering(call);
  const tir::Buffer& x = lowering.arg(0);
  tir::Buffer out = lowering.output("out", x->shape, x->dtype);
  DType compute = accumulation_dtype(x->dtype);
  tir::Buffer running =
      compute == x->dtype ? out : lowering.workspace("running", x->shape, compute);
  auto axis = static_cast<size_t>(
      normalized_axis(call, call.integer("axis"), static_cast<int>(x->shape.size())));
  bool exclusive = call.flag("exclusive"), reverse = call.flag("reverse");
  PrimExpr extent = x->shape[axis];
  Dims rows = x->shape;
  rows.erase(rows.begin() + static_cast<std::ptrdiff_t>(axis));
  lowering.add(tir::block(call.info.name, rows, [&](const std::vector<Var>& i) {
    Var k = make_var("k");
    auto at = [&](const PrimExpr& step) {
      std::vector<PrimExpr> index(i.begin(), i.end());
      index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis),
                   reverse ? extent - 1 - step : step);
      return index;
    };
    PrimExpr before = tir::load(running, at(k - 1)), start = number(identity, compute);
    PrimExpr value =
        exclusive ? select(eq(k, 0), start, combine(before, load_wide(x, at(k - 1))))
                  : select(eq(k, 0), load_wide(x, at(k)), combine(before, load_wide(x, at(k))));
    return tir::make_for(k, extent, tir::make_store(running, at(k), value));
  }));
  if (running != out) {
    lowering.add(tir::compute(
        std::string(call.info.name) + "_out", out,
        [&](const std::vector<Var>& i) { return cast(out->dtype, tir::load(running, i)); }));
  }
  return lowering.finish();
}

tir::PrimFuncRef legalize_cumsum(const CallView& call) { return scan(call, 0, sum_of); }
tir::PrimFuncRef legalize_cumprod(const CallView& call) {
  return scan(call, 1, [](PrimExpr a, PrimExpr b) { return std::move(a) * std::move(b); });
}

bool generate_scan(GeneratedCall& call, RandomStream& rng) {
  call.attrs["axis"] = random_axis(call.args[0].tensors[0].shape.size(), rng);
  call.attrs["exclusive"] = rng.chance(0.3);
  call.attrs["reverse"] = rng.chance(0.3);
  return true;
}

OperatorInfo scan_entry(const char* name, const char* doc, LegalizeRule legalize,
                        ReferenceRule reference) {
  return {.name = name,
          .doc = doc,
          .args = {{"x", ArgumentKind::kTensor, "at least one dimension, a number"}},
          .attrs = {{"axis", AttributeKind::kInt, true, {}, "negative from the end"},
                    {"exclusive", AttributeKind::kBool, false, false,
                     "each result excludes its own element; the first is that of no elements"},
                    {"reverse", AttributeKind::kBool, false, false, "from the end to the front"}},
          .inout = {},
          .deduce = deduce_scan,
          .legalize = legalize,
          .reference = reference,
          .generator = {{1, 2, 3, 4}, number_dtypes(), -2, 2, generate_scan}};
}

}  // namespace

std::span<const OperatorInfo> scan_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      scan_entry("cumsum",
                 "Sums of the elements up to each along an axis, kept in f32 for narrower floats; "
                 "integers wrap.",
                 legalize_cumsum, reference::cumsum),
      scan_entry("cumprod", "Products of the elements up to each along an axis; dtypes as cumsum.",
                 legalize_cumprod, reference::cumprod),
  };
  return kOperators;
}

}  // namespace tapml::op
