// Functions of one real number.
#include "op/reference/unary_math.h"

#include "op/elementwise.h"
#include "op/families.h"

namespace tapml::op {

namespace {

// Applies the scalar intrinsic of the same name.
tir::PrimFuncRef legalize_real(const CallView& call) {
  return elementwise(call, real_dtype(call.dtype(0)), false,
                     [&](PrimExpr x) { return intrinsic(call.info.name, std::move(x)); });
}

OperatorInfo function(const char* name, const char* doc, ReferenceRule reference, double low = -4,
                      double high = 4) {
  return unary_operator(name, doc, deduce_real, legalize_real, reference, all_dtypes(), low, high);
}

}  // namespace

std::span<const OperatorInfo> unary_math_operators() {
  static const std::vector<OperatorInfo> kOperators = {
      function("exp", "e to the power x; overflows to infinity.", reference::exp),
      function("expm1", "e to the power x, less 1, exact near 0 where exp(x) - 1 is not.",
               reference::expm1),
      function("log", "Natural logarithm; -inf at 0, NaN below.", reference::log, 0.01, 8),
      function("log2", "Logarithm to base 2; -inf at 0, NaN below.", reference::log2, 0.01, 8),
      function("log10", "Logarithm to base 10; -inf at 0, NaN below.", reference::log10, 0.01, 8),
      function("sqrt", "Square root; NaN below zero.", reference::sqrt, 0, 4),
      function("rsqrt", "1 / sqrt(x).", reference::rsqrt, 0.01, 4),
      function("sin", "Sine of x radians.", reference::sin),
      function("cos", "Cosine of x radians.", reference::cos),
      function("tan", "Tangent of x radians.", reference::tan, -1.5, 1.5),
      function("asin", "Arc sine in radians; NaN outside [-1, 1].", reference::asin, -1, 1),
      function("acos", "Arc cosine in radians; NaN outside [-1, 1].", reference::acos, -1, 1),
      function("atan", "Arc tangent in radians.", reference::atan),
      function("sinh", "Hyperbolic sine.", reference::sinh),
      function("cosh", "Hyperbolic cosine.", reference::cosh),
      function("tanh", "Hyperbolic tangent.", reference::tanh),
      function("asinh", "Inverse hyperbolic sine.", reference::asinh),
      function("acosh", "Inverse hyperbolic cosine; NaN below 1.", reference::acosh, 1, 8),
      function("atanh", "Inverse hyperbolic tangent; infinite at -1 and 1, NaN outside.",
               reference::atanh, -0.99, 0.99),
      function("erf", "Error function.", reference::erf),
  };
  return kOperators;
}

}  // namespace tapml::op
