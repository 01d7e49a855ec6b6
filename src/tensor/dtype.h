// Element types of tensors and scalars.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tapml {

enum class DType : uint8_t {
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF16,
  kBF16,
  kF32,
  kF64,
};

// Bytes of one element in memory (bool is one byte, 0 or 1).
size_t dtype_bytes(DType dtype);
int dtype_bits(DType dtype);
// The name in the text format and in reports: "bool", "i32", "bf16", ...
const char* dtype_name(DType dtype);
std::optional<DType> parse_dtype(std::string_view name);

bool is_float(DType dtype);
bool is_integer(DType dtype);  // signed or unsigned, not bool
bool is_signed_integer(DType dtype);
bool is_unsigned_integer(DType dtype);

// Unit round-off u of a float type (half the distance from 1 to the next value); 0 for other types.
double unit_roundoff(DType dtype);

// Conversions; they round to nearest even and keep NaN as a quiet NaN.
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float value);
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float value);

}  // namespace tapml
