// Functions of one number that round it or change its sign, exact in every dtype.
#include "op/reference/rounding.h"

#include <cmath>

#include "op/elementwise.h"
#include "op/families.h"

namespace tapml::op {

namespace {

// Integers are unchanged; floats use the intrinsic of the same name.
tir::PrimFuncRef legalize_rounding(const CallView& call) {
  return elementwise(call, call.dtype(0), false, [&](PrimExpr x) {
    return is_float(x.dtype()) ? intrinsic(call.info.name, x) : x;
  });
}

tir::PrimFuncRef legalize_intrinsic(const CallView& call) {
  return elementwise(call, call.dtype(0), false,
                     [&](PrimExpr x) { return intrinsic(call.info.name, std::move(x)); });
}

// 0 - x would give +0 for x = 0; a product with -1 keeps the sign of zero.
PrimExpr negated(PrimExpr x) {
  return is_float(x.dtype()) ? x * number(-1, x.dtype()) : number(0, x.dtype()) - x;
}

PrimExpr squared(PrimExpr x) {
  return bind("x", std::move(x), [](PrimExpr v) { return v * v; });
}

// min(max(x, low), high); a bound beyond the range of an integer dtype has no effect.
tir::PrimFuncRef legalize_clip(const CallView& call) {
  const auto* low = find_attr<double>(call.attrs, "min");
  const auto* high = find_attr<double>(call.attrs, "max");
  DType dtype = call.dtype(0);
  auto constant = [&](double value) {
    if (is_float(dtype)) return number(value, accumulation_dtype(dtype));
    double limit = std::ldexp(1.0, dtype_bits(dtype) - (is_signed_integer(dtype) ? 1 : 0));
    if (value >= limit) return highest(dtype);
    if (value <= (is_signed_integer(dtype) ? -limit : 0)) return lowest(dtype);
    bool wide = value >= 0x1p63;
    return make_int(
        wide ? static_cast<int64_t>(static_cast<uint64_t>(value)) : static_cast<int64_t>(value),
        dtype);
  };
  return elementwise(call, dtype, false, [&](PrimExpr x) {
    if (low) x = max(x, constant(*low));
    if (high) x = min(x, constant(*high));
    return x;
  });
}

relax::Annotation deduce_clip(const CallView& call) {
  const auto* low = find_attr<double>(call.attrs, "min");
  const auto* high = find_attr<double>(call.attrs, "max");
  if (!low && !high) call.error("there is no bound", "min, max or both", "neither");
  std::optional<DType> dtype = known_tensor(call, 0).dtype;
  for (const double* bound : {low, high}) {
    if (bound && std::isnan(*bound)) call.error("a bound is NaN", "a number", "nan");
    if (bound && dtype && !is_float(*dtype) && std::floor(*bound) != *bound) {
      call.error("a bound of an integer tensor is not an integer", "an integer",
                 std::to_string(*bound));
    }
  }
  return deduce_number(call);
}

bool generate_clip(GeneratedCall& call, RandomStream& rng) {
  int form = static_cast<int>(rng.below(3));
  if (form != 0) call.attrs["min"] = static_cast<double>(rng.between(-3, 1));
  if (form != 1) call.attrs["max"] = static_cast<double>(rng.between(0, 3));
  return true;
}

OperatorInfo clip_operator() {
  OperatorInfo info = unary_operator(
      "clip",
      "min(max(x, min), max) with either bound or both; all elements are max where min > max. NaN "
      "stays. Bounds of an integer tensor are integers.",
      deduce_clip, legalize_clip, reference::clip, number_dtypes());
  info.args[0].doc = "any shape, a number";
  info.attrs = {{"min", AttributeKind::kFloat, false, {}, "lower bound"},
                {"max", AttributeKind::kFloat, false, {}, "upper bound"}};
  info.generator.rule = generate_clip;
  return info;
}

OperatorInfo rounding_entry(const char* name, const char* doc, LegalizeRule legalize,
                            ReferenceRule reference) {
  return unary_operator(name, doc, deduce_number, legalize, reference, number_dtypes(), -9, 9);
}

}  // namespace

std::span<const OperatorInfo> rounding_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      rounding_entry("negative", "-x; integers wrap.", legalize_number<negated>,
                     reference::negative),
      rounding_entry("abs", "Absolute value; the least integer of a dtype stays itself.",
                     legalize_intrinsic, reference::abs),
      rounding_entry("sign", "-1, 0 or 1; NaN stays.", legalize_intrinsic, reference::sign),
      rounding_entry("square", "x * x; integers wrap.", legalize_number<squared>,
                     reference::square),
      rounding_entry("floor", "The largest integer not above x; integers stay.", legalize_rounding,
                     reference::floor),
      rounding_entry("ceil", "The smallest integer not below x; integers stay.", legalize_rounding,
                     reference::ceil),
      rounding_entry("round", "The nearest integer, ties to even; integers stay.",
                     legalize_rounding, reference::round),
      rounding_entry("trunc", "x without its fraction; integers stay.", legalize_rounding,
                     reference::trunc),
      clip_operator(),
  };
  return kOperators;
}

}  // namespace tapml::op
