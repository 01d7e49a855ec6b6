#include "ir/intrinsics.h"

namespace tapml {

namespace {

constexpr auto kInteger = IntrinsicDomain::kInteger;
constexpr auto kBits = IntrinsicDomain::kBits;
constexpr auto kNumber = IntrinsicDomain::kNumber;
constexpr auto kWord = IntrinsicDomain::kWord;
constexpr auto kFloat = IntrinsicDomain::kFloat;

constexpr IntrinsicInfo kTable[] = {
    {"exp", 1, true, "e to the x"},
    {"exp2", 1, true, "2 to the x"},
    {"expm1", 1, true, "e to the x, less 1; exact near 0"},
    {"log", 1, true, "natural logarithm; -inf at 0"},
    {"log2", 1, true, "logarithm to base 2; exact at powers of 2"},
    {"log10", 1, true, "logarithm to base 10"},
    {"pow", 2, true, "x to the y, corners as in C99: pow(x, 0) = pow(1, y) = 1"},
    {"sin", 1, true, "sine, radians"},
    {"cos", 1, true, "cosine, radians"},
    {"tan", 1, true, "tangent, radians"},
    {"asin", 1, true, "arc sine"},
    {"acos", 1, true, "arc cosine"},
    {"atan", 1, true, "arc tangent"},
    {"sinh", 1, true, "hyperbolic sine"},
    {"cosh", 1, true, "hyperbolic cosine"},
    {"tanh", 1, true, "hyperbolic tangent"},
    {"asinh", 1, true, "inverse hyperbolic sine"},
    {"acosh", 1, true, "inverse hyperbolic cosine"},
    {"atanh", 1, true, "inverse hyperbolic tangent; infinite at 1 and -1"},
    {"erf", 1, true, "error function"},
    {"sqrt", 1, false, "square root, correctly rounded"},
    {"rsqrt", 1, false, "1 / sqrt(x), as that division"},
    {"fma", 3, false, "a * b + c, rounded once (f16, bf16: in f32, then rounded)"},
    {"floor", 1, false, "toward minus infinity"},
    {"ceil", 1, false, "toward plus infinity"},
    {"trunc", 1, false, "toward zero"},
    {"round", 1, false, "to nearest, ties to even"},
    {"isnan", 1, false, "true for a NaN", kFloat, IntrinsicResult::kBool},
    {"isinf", 1, false, "true for an infinity", kFloat, IntrinsicResult::kBool},
    {"isfinite", 1, false, "true for neither", kFloat, IntrinsicResult::kBool},
    {"abs", 1, false, "absolute value; INT_MIN stays", kNumber},
    {"sign", 1, false, "-1, 0 or 1; NaN stays", kNumber},
    {"shift_left", 2, false, "x * 2^n; 0 where n is negative or >= the width", kInteger},
    {"shift_right", 2, false,
     "floor(x / 2^n); the sign (0 for unsigned) where n is negative or >= the width", kInteger},
    {"trunc_div", 2, false, "quotient toward zero; 0 where y is 0", kInteger},
    {"trunc_mod", 2, false, "remainder with the sign of x; 0 where y is 0", kInteger},
    {"mul_high", 2, false, "upper half of the exact product", kInteger},
    {"popcount", 1, false, "number of bits that are set", kInteger},
    {"dot4", 3, false,
     "c plus the products of the four unsigned bytes of a with the signed ones of b; wraps", kWord},
    {"bit_and", 2, false, "bitwise and", kBits},
    {"bit_or", 2, false, "bitwise or", kBits},
    {"bit_xor", 2, false, "bitwise exclusive or", kBits},
    {"bit_not", 1, false, "bitwise complement; of a bool its negation", kBits},
    {"reinterpret", 1, false, "the same bits as another dtype of equal width",
     IntrinsicDomain::kAny, IntrinsicResult::kGiven},
};
}  // namespace

std::span<const IntrinsicInfo> intrinsic_table() { return kTable; }

const IntrinsicInfo* find_intrinsic(std::string_view name) {
  for (const IntrinsicInfo& info : kTable) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

PrimExpr expanded_dot4(const PrimExpr& call) {
  const auto word = [](int64_t value) { return make_int(value, DType::kI32); };
  const Var a = make_var("a", DType::kI32), b = make_var("b", DType::kI32);
  PrimExpr sum = call.operand(2);
  for (int64_t shift = 0; shift < 32; shift += 8) {
    const PrimExpr high = make_call("shift_right", DType::kI32, {a, word(shift)});
    const PrimExpr low = make_call("shift_left", DType::kI32, {b, word(24 - shift)});
    sum = sum + make_call("bit_and", DType::kI32, {high, word(255)}) *
                    make_call("shift_right", DType::kI32, {low, word(24)});
  }
  return let(a, call.operand(0), let(b, call.operand(1), sum));
}

}  // namespace tapml
