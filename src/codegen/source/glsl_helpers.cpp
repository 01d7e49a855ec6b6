#include "codegen/source/glsl_helpers.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "codegen/source/helper_functions.h"

namespace tapml::codegen {

namespace {

// A helper comes after those that it calls. Conversions to and from f16 work on the bits, because
// platforms differ in how they round packHalf2x16; kFloat16Helpers replace them.
constexpr HelperFunction kGlslHelpers[] = {
    {"tapml_round_bf16", R"(
float tapml_round_bf16(float x) {
  uint bits = floatBitsToUint(x);
  uint rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  return uintBitsToFloat(((bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : rounded) &
                         0xffff0000u);
}
)"},
    {"tapml_bits_of_f16", R"(
uint tapml_bits_of_f16(float x) {
  uint bits = floatBitsToUint(x), sign = (bits >> 16) & 0x8000u, a = bits & 0x7fffffffu;
  if (a > 0x7f800000u) return sign | 0x7e00u;
  if (a >= 0x477ff000u) return sign | 0x7c00u;
  if (a >= 0x38800000u) return sign | ((a - 0x38000000u + 0xfffu + ((a >> 13) & 1u)) >> 13);
  if (a <= 0x33000000u) return sign;
  uint shift = 126u - (a >> 23), m = (a & 0x7fffffu) | 0x800000u;
  uint kept = m >> shift, rest = m & ((1u << shift) - 1u), tie = 1u << (shift - 1u);
  return sign | (kept + (rest > tie || (rest == tie && (kept & 1u) != 0u) ? 1u : 0u));
}
)"},
    {"tapml_f16_of_bits", R"(
float tapml_f16_of_bits(uint h) {
  uint sign = (h & 0x8000u) << 16, a = h & 0x7fffu;
  uint small = floatBitsToUint(float(a) * 5.9604644775390625e-8);
  uint bits = a < 0x400u ? small : (a << 13) + (a < 0x7c00u ? 0x38000000u : 0x70000000u);
  return uintBitsToFloat(bits | sign);
}
)"},
    {"tapml_round_f16", R"(
float tapml_round_f16(float x) { return tapml_f16_of_bits(tapml_bits_of_f16(x)); }
)"},
    {"tapml_hidden", R"(
float tapml_hidden(float x, uint zero) { return uintBitsToFloat(floatBitsToUint(x) | zero); }
)"},
    {"tapml_hidden_wide", R"(
double tapml_hidden_wide(double x, uint zero) {
  return packDouble2x32(unpackDouble2x32(x) | uvec2(zero));
}
)"},
    {"tapml_four_bf16", R"(
vec4 tapml_four_bf16(uvec2 words) {
  return uintBitsToFloat(uvec4(words.x << 16, words.x & 0xffff0000u, words.y << 16,
                               words.y & 0xffff0000u));
}
)"},
    {"tapml_four_f16", R"(
vec4 tapml_four_f16(uvec2 words) {
  return vec4(unpackHalf2x16(words.x), unpackHalf2x16(words.y));
}
)"},
    // Converts from the buffer's declared type.
    // Four neighbours, the first in the low half of the first word.
    {"tapml_words_of_bf16", R"(
uvec2 tapml_words_of_bf16(vec4 x) {
  uvec4 bits = uvec4(floatBitsToUint(tapml_round_bf16(x.x)), floatBitsToUint(tapml_round_bf16(x.y)),
                     floatBitsToUint(tapml_round_bf16(x.z)), floatBitsToUint(tapml_round_bf16(x.w)));
  return bits.xz >> 16 | (bits.yw & 0xffff0000u);
})"},
    {"tapml_words_of_f16", R"(
uvec2 tapml_words_of_f16(vec4 x) {
  return uvec2(tapml_bits_of_f16(x.x) | tapml_bits_of_f16(x.y) << 16,
               tapml_bits_of_f16(x.z) | tapml_bits_of_f16(x.w) << 16);
})"},
    {"tapml_wide_f32", R"(
vec4 tapml_wide_f32(vec4 x) { return x; }
vec4 tapml_wide_f32(u64vec2 words) {
  return uintBitsToFloat(uvec4(unpackUint2x32(words.x), unpackUint2x32(words.y)));
}
)"},
    {"tapml_wide_bf16", R"(
vec4 tapml_wide_bf16(uvec2 words) { return tapml_four_bf16(words); }
vec4 tapml_wide_bf16(uint64_t words) { return tapml_four_bf16(unpackUint2x32(words)); }
)"},
    {"tapml_wide_f16", R"(
vec4 tapml_wide_f16(uvec2 words) { return tapml_four_f16(words); }
vec4 tapml_wide_f16(uint64_t words) { return tapml_four_f16(unpackUint2x32(words)); }
)"},
    // trunc and roundEven of doubles are wrong on lavapipe unless the processor has vectors of
    // eight doubles: values beyond 24 bits are treated as integral, and 1.5 gives 1.
    {"tapml_with_zero_of", R"(
double tapml_with_zero_of(double rounded, double x) {
  uvec2 zero = uvec2(0u, unpackDouble2x32(x).y & 0x80000000u);
  return rounded == 0.0lf ? packDouble2x32(zero) : rounded;
}
)"},
    {"tapml_trunc", R"(
double tapml_trunc(double x) { return tapml_with_zero_of(x < 0.0lf ? ceil(x) : floor(x), x); }
)"},
    {"tapml_round_even", R"(
double tapml_round_even(double x) {
  double low = floor(x), rest = x - low;
  bool odd = 2.0lf * floor(0.5lf * low) != low;
  return tapml_with_zero_of(rest > 0.5lf || (rest == 0.5lf && odd) ? low + 1.0lf : low, x);
}
)"},
    {"tapml_subgroup_max", R"(
float tapml_subgroup_max(float x) {
  float most = subgroupMax(x);
  return subgroupAny(x != x) ? uintBitsToFloat(0x7fc00000u) : most;
}
)"},
    {"tapml_subgroup_min", R"(
float tapml_subgroup_min(float x) {
  float least = subgroupMin(x);
  return subgroupAny(x != x) ? uintBitsToFloat(0x7fc00000u) : least;
}
)"},
    {"tapml_mul_high", R"(
uint tapml_mul_high(uint a, uint b) {
  uint high, low;
  umulExtended(a, b, high, low);
  return high;
}
int tapml_mul_high(int a, int b) {
  int high, low;
  imulExtended(a, b, high, low);
  return high;
}
)"},
    {"tapml_mul_high_u64", R"(
uint64_t tapml_mul_high_u64(uint64_t a, uint64_t b) {
  uint64_t mask = uint64_t(0xffffffffu);
  uint64_t al = a & mask, ah = a >> 32, bl = b & mask, bh = b >> 32;
  uint64_t middle = ah * bl + ((al * bl) >> 32);
  return ah * bh + (middle >> 32) + ((al * bh + (middle & mask)) >> 32);
}
)"},
    {"tapml_mul_high_i64", R"(
int64_t tapml_mul_high_i64(int64_t a, int64_t b) {
  int64_t high = int64_t(tapml_mul_high_u64(uint64_t(a), uint64_t(b)));
  return high - (a < 0 ? b : int64_t(0)) - (b < 0 ? a : int64_t(0));
}
)"},
    {"tapml_popcount_64", R"(
int tapml_popcount_64(uint64_t x) { return bitCount(uint(x)) + bitCount(uint(x >> 32)); }
)"},
    {"tapml_to_int", R"(
int tapml_to_int(float x, float low, float beyond, int least, int most) {
  return x != x ? 0 : (x >= beyond ? most : (x <= low ? least : int(x)));
}
)"},
    {"tapml_to_uint", R"(
uint tapml_to_uint(float x, float beyond, uint most) {
  return x > 0.0 ? (x >= beyond ? most : uint(x)) : 0u;
}
)"},
    {"tapml_wide_to_int", R"(
int tapml_wide_to_int(double x, double low, double beyond, int least, int most) {
  return x != x ? 0 : (x >= beyond ? most : (x <= low ? least : int(x)));
}
)"},
    {"tapml_wide_to_uint", R"(
uint tapml_wide_to_uint(double x, double beyond, uint most) {
  return x > 0.0lf ? (x >= beyond ? most : uint(x)) : 0u;
}
)"},
    {"tapml_to_i64", R"(
int64_t tapml_to_i64(float x) {
  int64_t least = int64_t(1) << 63;
  return x != x ? int64_t(0)
                : (x >= 9223372036854775808.0 ? ~least
                                              : (x <= -9223372036854775808.0 ? least : int64_t(x)));
}
)"},
    {"tapml_to_u64", R"(
uint64_t tapml_to_u64(float x) {
  return x > 0.0 ? (x >= 18446744073709551616.0 ? ~uint64_t(0) : uint64_t(x)) : uint64_t(0);
}
)"},
    {"tapml_wide_to_i64", R"(
int64_t tapml_wide_to_i64(double x) {
  int64_t least = int64_t(1) << 63;
  return x != x
             ? int64_t(0)
             : (x >= 9223372036854775808.0lf
                    ? ~least
                    : (x <= -9223372036854775808.0lf ? least : int64_t(x)));
}
)"},
    {"tapml_wide_to_u64", R"(
uint64_t tapml_wide_to_u64(double x) {
  return x > 0.0lf ? (x >= 18446744073709551616.0lf ? ~uint64_t(0) : uint64_t(x)) : uint64_t(0);
}
)"},
    // a + b rounded to odd: an inexact sum becomes the neighbor with an odd last bit, so that
    // rounding it again to fewer bits is as good as rounding once.
    {"tapml_odd_sum", R"(
double tapml_odd_sum(double a, double b) {
  double s = a + b, t = s - a, e = (a - (s - t)) + (b - t);
  uvec2 bits = unpackDouble2x32(s);
  if (abs(e) > 0.0lf && (bits.x & 1u) == 0u) {
    bool away = (e > 0.0lf) == (s > 0.0lf);
    bits = away ? uvec2(bits.x | 1u, bits.y)
                : uvec2(bits.x - 1u, bits.x == 0u ? bits.y - 1u : bits.y);
  }
  return packDouble2x32(bits);
}
)"},
    {"tapml_sqrt", R"(
float tapml_sqrt(float x) { return float(sqrt(double(x))); }
)"},
    {"tapml_fma", R"(
float tapml_fma(float a, float b, float c) {
  return float(tapml_odd_sum(double(a) * double(b), double(c)));
}
)"},
    // The product's exact error from 26-bit halves, away from the ends of the range; a subnormal
    // result is rounded only by the last product.
    {"tapml_wide_fma", R"(
double tapml_wide_high(double x) {
  double c = 134217729.0lf * x;
  return c - (c - x);
}
double tapml_wide_fma(double a, double b, double c) {
  if (abs(a) > 1e200lf) {
    a *= 6.2230152778611417e-61lf;
    b *= 1.6069380442589903e60lf;
  } else if (abs(b) > 1e200lf) {
    b *= 6.2230152778611417e-61lf;
    a *= 1.6069380442589903e60lf;
  }
  double p = a * b, scale = 1.0lf;
  if (abs(p) < 1e-200lf && abs(c) < 1e-100lf) {
    // The smaller one: the other may be as large as they come.
    if (abs(a) < abs(b)) {
      a *= 2.0370359763344861e90lf;
    } else {
      b *= 2.0370359763344861e90lf;
    }
    c *= 2.0370359763344861e90lf;
    p = a * b;
    scale = 4.9090934652977266e-91lf;
  } else if (abs(p) > 1e300lf) {
    a *= 0.0625lf;
    c *= 0.0625lf;
    p = a * b;
    scale = 16.0lf;
  }
  if (!(abs(p) > 1e-250lf && abs(p) < 1e308lf)) return (p + c) * scale;
  double ah = tapml_wide_high(a), al = a - ah, bh = tapml_wide_high(b), bl = b - bh;
  double e = ((ah * bh - p) + ah * bl + al * bh) + al * bl;
  double t = c + e, u = t - c, tl = (c - (t - u)) + (e - u);
  double v = p + t, w = v - p, vl = (p - (v - w)) + (t - w);
  if (!(abs(v) < 1e308lf)) return (p + c) * scale;
  double low = tapml_odd_sum(tl, vl);
  return (abs(v) * scale < 2.2250738585072014e-308lf ? tapml_odd_sum(v, low) : v + low) * scale;
}
)"},
};

// For devices that compute f16 as docs/semantics.md defines it.
constexpr HelperFunction kFloat16Helpers[] = {
    {"tapml_bits_of_f16", R"(
uint tapml_bits_of_f16(float x) { return packFloat2x16(f16vec2(float16_t(x), float16_t(0.0))); }
)"},
    {"tapml_f16_of_bits", R"(
float tapml_f16_of_bits(uint h) { return float(unpackFloat2x16(h).x); }
)"},
    {"tapml_round_f16", R"(
float tapml_round_f16(float x) { return float(float16_t(x)); }
)"},
    {"tapml_four_f16", R"(
vec4 tapml_four_f16(uvec2 words) {
  return vec4(unpackFloat2x16(words.x), unpackFloat2x16(words.y));
}
)"},
    {"tapml_words_of_f16", R"(
uvec2 tapml_words_of_f16(vec4 x) {
  f16vec4 h = f16vec4(x);
  return uvec2(packFloat2x16(h.xy), packFloat2x16(h.zw));
})"},
};

}  // namespace

std::string glsl_helpers(const std::string& body, bool float16) {
  std::string used;
  if (calls_helper(body, "tapml_hidden") && body.find("vec4") != std::string::npos) {
    used =
        "vec4 tapml_hidden(vec4 x, uint zero) {\n"
        "  return uintBitsToFloat(floatBitsToUint(x) | uvec4(zero));\n}\n";
  }
  if (!float16) return used_helpers(kGlslHelpers, body, std::move(used));
  std::vector<HelperFunction> helpers(std::begin(kGlslHelpers), std::end(kGlslHelpers));
  for (const HelperFunction& native : kFloat16Helpers) {
    std::ranges::find(helpers, std::string_view(native.name), &HelperFunction::name)->text =
        native.text;
  }
  return used_helpers(helpers, body, std::move(used));
}

}  // namespace tapml::codegen
