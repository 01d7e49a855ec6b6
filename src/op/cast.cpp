// Conversion between dtypes.
#include "op/reference/cast.h"

#include "op/elementwise.h"
#include "op/families.h"

namespace tapml::op {

namespace {

DType target(const CallView& call) { return *find_attr<DType>(call.attrs, "dtype"); }

relax::Annotation deduce_cast(const CallView& call) {
  Known result = known_tensor(call, 0);
  result.dtype = target(call);
  return tensor_result(result);
}

tir::PrimFuncRef legalize_cast(const CallView& call) {
  DType dtype = target(call);
  return elementwise(call, dtype, true, [&](PrimExpr x) {
    return dtype == DType::kBool ? truth(std::move(x)) : std::move(x);
  });
}

bool generate_cast(GeneratedCall& call, RandomStream& rng) {
  call.attrs["dtype"] = pick(all_dtypes(), rng);
  return true;
}

}  // namespace

std::span<const OperatorInfo> cast_operators() {
  static const std::vector<OperatorInfo> kOperators = [] {
    OperatorInfo cast = unary_operator(
        "cast",
        "x as another dtype: to the nearest float, ties to even; from float to integer toward "
        "zero, saturating, NaN as 0; between integers modulo the width; x != 0 for bool.",
        deduce_cast, legalize_cast, reference::cast, all_dtypes(), -300, 300);
    cast.attrs = {{"dtype", AttributeKind::kDType, true, {}, "dtype of the result"}};
    cast.generator.rule = generate_cast;
    return std::vector<OperatorInfo>{cast};
  }();
  return kOperators;
}

}  // namespace tapml::op
