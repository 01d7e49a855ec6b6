#include "ir/intrinsics.h"

namespace tapml {

namespace {
constexpr IntrinsicInfo kTable[] = {
    {"exp", 1, true, "e to the x"},
    {"log", 1, true, "natural logarithm"},
    {"tanh", 1, true, "hyperbolic tangent"},
    {"sin", 1, true, "sine, radians"},
    {"cos", 1, true, "cosine, radians"},
    {"pow", 2, true, "x to the y"},
    {"erf", 1, true, "error function"},
    {"sqrt", 1, false, "square root, correctly rounded"},
    {"rsqrt", 1, false, "1 / sqrt(x), as that division"},
    {"fma", 3, false, "a * b + c, rounded once"},
    {"floor", 1, false, "toward minus infinity"},
    {"trunc", 1, false, "toward zero"},
    {"round", 1, false, "to nearest, ties to even"},
    {"abs", 1, false, "absolute value"},
    {"isnan", 1, false, "true for a NaN"},
    {"shift_left", 2, false, "integer shift"},
    {"shift_right", 2, false, "integer shift, arithmetic for signed types"},
    {"bit_and", 2, false, "bitwise and"},
    {"bit_or", 2, false, "bitwise or"},
    {"bit_xor", 2, false, "bitwise exclusive or"},
    {"reinterpret", 1, false, "the same bits as another dtype of equal width"},
};
}  // namespace

std::span<const IntrinsicInfo> intrinsic_table() { return kTable; }

const IntrinsicInfo* find_intrinsic(std::string_view name) {
  for (const IntrinsicInfo& info : kTable) {
    if (name == info.name) return &info;
  }
  return nullptr;
}

}  // namespace tapml
