// Operators that make tensors from constants.
#include "op/families.h"
#include "op/lowering.h"
#include "op/reference/rules.h"

namespace tapml::op {

namespace {

relax::Annotation deduce_full(const CallView& call) {
  Known result{known_dims(call, 0), relax::kUnknownNdim, *find_attr<DType>(call.attrs, "dtype")};
  if (const auto* shape = relax::as_shape(call.annotations[0])) result.ndim = shape->ndim;
  return tensor_result(result);
}

tir::PrimFuncRef legalize_full(const CallView& call) {
  Lowering lowering(call);
  DType dtype = *find_attr<DType>(call.attrs, "dtype");
  tir::Buffer out = lowering.output("out", call.shape_argument(0), dtype);
  lowering.add(tir::compute(
      "full", out, [&](const std::vector<Var>&) { return number(call.number("value"), dtype); }));
  return lowering.finish();
}

}  // namespace

std::span<const OperatorInfo> creation_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      {.name = "full",
       .doc = "A tensor whose elements all have one value.",
       .args = {{"shape", ArgumentKind::kShape, "the result's shape"}},
       .attrs = {{"value", AttributeKind::kFloat, true, {}, "rounded to the dtype"},
                 {"dtype", AttributeKind::kDType, true, {}, "of the result"}},
       .inout = {},
       .deduce = deduce_full,
       .legalize = legalize_full,
       .reference = reference::full,
       .generator = {{}, {DType::kF32, DType::kF16, DType::kBF16, DType::kI32}}},
  };
  return kOperators;
}

}  // namespace tapml::op
