#include "op/product_rounding.h"

#include <bit>
#include <cmath>

namespace tapml::op {

namespace {

constexpr double kTF32Unit = 0x1p-11;

// Keeps 10 of f32's 23 bits after the point.
double truncated(double value) {
  const auto bits = std::bit_cast<uint32_t>(static_cast<float>(value));
  return std::bit_cast<float>(bits & ~uint32_t{0x1fff});
}

// To nearest, ties to even.
double nearest_tf32(double value) {
  if (!std::isfinite(value) || value == 0) return value;
  int exponent = 0;
  std::frexp(value, &exponent);
  const double spacing = std::ldexp(2 * kTF32Unit, exponent - 1);
  return std::nearbyint(value / spacing) * spacing;
}

}  // namespace

double rounded(ProductFormat format, double value) {
  switch (format) {
    case ProductFormat::kExact:
      return value;
    case ProductFormat::kF16:
      return f16_to_f32(f32_to_f16(static_cast<float>(value)));
    case ProductFormat::kBF16:
      return bf16_to_f32(f32_to_bf16(static_cast<float>(value)));
    case ProductFormat::kTF32:
      return nearest_tf32(value);
    case ProductFormat::kTF32Truncated:
      return truncated(value);
  }
  return value;
}

ProductFormat format_of(ProductFormat format, DType dtype) {
  const double unit = format == ProductFormat::kBF16 ? 0x1p-8 : kTF32Unit;
  return is_float(dtype) && unit_roundoff(dtype) < unit ? format : ProductFormat::kExact;
}

}  // namespace tapml::op
