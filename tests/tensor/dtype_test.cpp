#include "tensor/dtype.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "base/rng.h"

namespace tapml {
namespace {

const std::vector<DType> kAll = {DType::kBool, DType::kI8,  DType::kI16, DType::kI32, DType::kI64,
                                 DType::kU8,   DType::kU16, DType::kU32, DType::kU64, DType::kF16,
                                 DType::kBF16, DType::kF32, DType::kF64};

TEST(DTypeTest, NamesRoundTrip) {
  for (DType dtype : kAll) EXPECT_EQ(parse_dtype(dtype_name(dtype)), dtype);
  EXPECT_EQ(parse_dtype("float32"), std::nullopt);
  EXPECT_EQ(parse_dtype(""), std::nullopt);
  EXPECT_STREQ(dtype_name(DType::kBF16), "bf16");
  EXPECT_STREQ(dtype_name(DType::kU16), "u16");
}

TEST(DTypeTest, SizesAndClasses) {
  EXPECT_EQ(dtype_bytes(DType::kBool), 1u);
  EXPECT_EQ(dtype_bits(DType::kBool), 1);
  EXPECT_EQ(dtype_bytes(DType::kBF16), 2u);
  EXPECT_EQ(dtype_bits(DType::kF64), 64);
  int floats = 0, integers = 0, with_sign = 0, without = 0;
  for (DType dtype : kAll) {
    floats += is_float(dtype);
    integers += is_integer(dtype);
    with_sign += is_signed_integer(dtype);
    without += is_unsigned_integer(dtype);
  }
  EXPECT_EQ(floats, 4);
  EXPECT_EQ(integers, 8);
  EXPECT_EQ(with_sign, 4);
  EXPECT_EQ(without, 4);
  EXPECT_EQ(unit_roundoff(DType::kF32), 0x1p-24);
  EXPECT_EQ(unit_roundoff(DType::kBF16), 0x1p-8);
  EXPECT_EQ(unit_roundoff(DType::kI32), 0);
}

// The value of a 16-bit float by its definition.
double slow_value(uint16_t bits, int exponent_bits) {
  int mantissa_bits = 15 - exponent_bits;
  int bias = (1 << (exponent_bits - 1)) - 1;
  int exponent = (bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
  int mantissa = bits & ((1 << mantissa_bits) - 1);
  double sign = (bits & 0x8000) ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1) return mantissa ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
  return sign * std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
}

uint32_t bits_of(float value) { return std::bit_cast<uint32_t>(value); }
float float_of(uint32_t bits) { return std::bit_cast<float>(bits); }

TEST(DTypeTest, EveryF16AndBf16WidensExactlyAndComesBack) {
  for (uint32_t i = 0; i <= 0xffff; ++i) {
    auto bits = static_cast<uint16_t>(i);
    double expected = slow_value(bits, 5);
    float value = f16_to_f32(bits);
    if (std::isnan(expected)) {
      ASSERT_EQ(bits_of(value), (i & 0x8000) << 16 | 0x7fc00000 | (i & 0x3ff) << 13) << i;
      ASSERT_EQ(f32_to_f16(value), bits | 0x200);
    } else {
      ASSERT_EQ(bits_of(value), bits_of(static_cast<float>(expected))) << i;
      ASSERT_EQ(f32_to_f16(value), bits);
    }
    expected = slow_value(bits, 8);
    value = bf16_to_f32(bits);
    if (std::isnan(expected)) {
      ASSERT_EQ(bits_of(value), i << 16 | 0x400000) << i;
      ASSERT_EQ(f32_to_bf16(value), bits | 0x40);
    } else {
      ASSERT_EQ(bits_of(value), bits_of(static_cast<float>(expected))) << i;
      ASSERT_EQ(f32_to_bf16(value), bits);
    }
  }
}

// Between two neighbors rounding switches once, at their midpoint: checking the f32 values at and
// next to it, for every pair of neighbors, covers every f32 value.
template <class Narrow, class Widen>
void check_midpoints(uint16_t largest, Narrow narrow, Widen widen) {
  for (uint16_t low = 0; low < largest; ++low) {
    auto high = static_cast<uint16_t>(low + 1);
    double middle = (static_cast<double>(widen(low)) + static_cast<double>(widen(high))) / 2;
    auto at = static_cast<float>(middle);
    if (static_cast<double>(at) != middle) continue;  // not an f32 value, so none is halfway
    uint16_t even = low % 2 == 0 ? low : high;
    for (uint32_t sign : {0u, 0x80000000u}) {
      auto s = static_cast<uint16_t>(sign >> 16);
      ASSERT_EQ(narrow(float_of(bits_of(at) | sign)), even | s) << low;
      ASSERT_EQ(narrow(float_of((bits_of(at) - 1) | sign)), low | s) << low;
      ASSERT_EQ(narrow(float_of((bits_of(at) + 1) | sign)), high | s) << low;
    }
  }
}

TEST(DTypeTest, NarrowingRoundsToNearestEvenAtEveryMidpoint) {
  check_midpoints(0x7bff, f32_to_f16, f16_to_f32);
  check_midpoints(0x7f7f, f32_to_bf16, bf16_to_f32);
  // Beyond the largest finite value the switch is half a step further.
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-1e30f), 0xfc00);
  EXPECT_EQ(f32_to_f16(INFINITY), 0x7c00);
  EXPECT_EQ(f32_to_bf16(float_of(0x7f7f7fff)), 0x7f7f);
  EXPECT_EQ(f32_to_bf16(float_of(0x7f7f8000)), 0x7f80);
  EXPECT_EQ(f32_to_f16(0x1p-149f), 0);
  EXPECT_EQ(f32_to_f16(-0x1p-149f), 0x8000);
  // A payload in the low bits only must not become infinity.
  EXPECT_EQ(f32_to_bf16(float_of(0x7f800001)), 0x7fc0);
  EXPECT_EQ(f32_to_f16(float_of(0xff800001)), 0xfe00);
}

#ifdef __FLT16_MANT_DIG__
TEST(DTypeTest, F16AgreesWithTheCompiler) {
  RandomStream random(11, "f16");
  for (int i = 0; i < 1'000'000; ++i) {
    uint32_t bits = random.next();
    // Half of them in the range of f16, which a uniform exponent would mostly miss.
    if (i % 2) bits = (bits & 0x87ffffff) | 0x30000000 | (bits & 0x18000000);
    float value = float_of(bits);
    if (std::isnan(value)) continue;
    auto expected = std::bit_cast<uint16_t>(static_cast<_Float16>(value));
    ASSERT_EQ(f32_to_f16(value), expected) << bits;
  }
}
#endif

}  // namespace
}  // namespace tapml
