#include "tensor/dtype.h"

#include <array>
#include <bit>

namespace tapml {

namespace {

enum class DTypeClass : uint8_t { kBool, kSigned, kUnsigned, kFloat };

struct DTypeInfo {
  const char* name;
  uint8_t bytes;
  DTypeClass type_class;
  double roundoff;
};

// In the order of the DType enumeration.
constexpr std::array<DTypeInfo, 13> kDTypes = {{
    {"bool", 1, DTypeClass::kBool, 0},
    {"i8", 1, DTypeClass::kSigned, 0},
    {"i16", 2, DTypeClass::kSigned, 0},
    {"i32", 4, DTypeClass::kSigned, 0},
    {"i64", 8, DTypeClass::kSigned, 0},
    {"u8", 1, DTypeClass::kUnsigned, 0},
    {"u16", 2, DTypeClass::kUnsigned, 0},
    {"u32", 4, DTypeClass::kUnsigned, 0},
    {"u64", 8, DTypeClass::kUnsigned, 0},
    {"f16", 2, DTypeClass::kFloat, 0x1p-11},
    {"bf16", 2, DTypeClass::kFloat, 0x1p-8},
    {"f32", 4, DTypeClass::kFloat, 0x1p-24},
    {"f64", 8, DTypeClass::kFloat, 0x1p-53},
}};

const DTypeInfo& info(DType dtype) { return kDTypes[static_cast<size_t>(dtype)]; }

}  // namespace

size_t dtype_bytes(DType dtype) { return info(dtype).bytes; }

int dtype_bits(DType dtype) { return dtype == DType::kBool ? 1 : 8 * info(dtype).bytes; }

const char* dtype_name(DType dtype) { return info(dtype).name; }

std::optional<DType> parse_dtype(std::string_view name) {
  for (size_t i = 0; i < kDTypes.size(); ++i) {
    if (name == kDTypes[i].name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool is_float(DType dtype) { return info(dtype).type_class == DTypeClass::kFloat; }

bool is_integer(DType dtype) { return is_signed_integer(dtype) || is_unsigned_integer(dtype); }

bool is_signed_integer(DType dtype) { return info(dtype).type_class == DTypeClass::kSigned; }

bool is_unsigned_integer(DType dtype) { return info(dtype).type_class == DTypeClass::kUnsigned; }

double unit_roundoff(DType dtype) { return info(dtype).roundoff; }

float bf16_to_f32(uint16_t bits) {
  uint32_t wide = static_cast<uint32_t>(bits) << 16;
  if ((bits & 0x7fffu) > 0x7f80u) wide |= 0x00400000u;
  return std::bit_cast<float>(wide);
}

uint16_t f32_to_bf16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  // A payload in the low half alone would be rounded away and leave infinity.
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x0040u);
  uint32_t to_even = 0x7fffu + ((bits >> 16) & 1u);
  return static_cast<uint16_t>((bits + to_even) >> 16);
}

float f16_to_f32(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000u) << 16;
  uint32_t exponent = (bits >> 10) & 0x1fu;
  uint32_t mantissa = bits & 0x3ffu;
  if (exponent == 0x1f) {
    uint32_t quiet = mantissa != 0 ? 0x00400000u : 0u;
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  if (exponent == 0) {
    // Zero and subnormals: mantissa * 2^-24 is exact in f32.
    float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | sign);
  }
  return std::bit_cast<float>(sign | ((exponent + 112u) << 23) | (mantissa << 13));
}

uint16_t f32_to_f16(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) {
    return static_cast<uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  }
  // From 65520 on, everything rounds to infinity.
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude >= 0x38800000u) {  // normal in f16: 2^-14 and above
    uint32_t to_even = 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<uint16_t>(sign | ((magnitude + to_even - (112u << 23)) >> 13));
  }
  if (magnitude <= 0x33000000u) return static_cast<uint16_t>(sign);  // at most 2^-25, ties to zero
  // Subnormal in f16: shift the mantissa with its leading one down to units of 2^-24.
  uint32_t shift = 126u - (magnitude >> 23);
  uint32_t mantissa = (magnitude & 0x7fffffu) | 0x800000u;
  uint32_t kept = mantissa >> shift;
  uint32_t rest = mantissa & ((1u << shift) - 1u);
  uint32_t half = 1u << (shift - 1u);
  if (rest > half || (rest == half && (kept & 1u))) ++kept;
  return static_cast<uint16_t>(sign | kept);
}

}  // namespace tapml
