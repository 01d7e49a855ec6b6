#include "codegen/source/wgsl_helpers.h"

#include "codegen/source/helper_functions.h"

namespace tapml::codegen {

namespace {

// A helper comes after those that it calls; tapml_zero() is part of every kernel. Compilers may
// assume that no float is NaN or infinite, so such values are made and recognized as integers.
// pack2x16float may round either way, so f16 is rounded on the bits.
constexpr HelperFunction kWgslHelpers[] = {
    {"tapml_float", R"(
fn tapml_float(bits: u32) -> f32 { return bitcast<f32>(bits | tapml_zero()); }
)"},
    // The load has a barrier before and after it, so that the variable may be used again at once.
    {"tapml_uniform", R"(
var<workgroup> tapml_uniform_value: i32;
fn tapml_uniform(x: i32, thread: u32) -> i32 {
  if (thread == 0u) { tapml_uniform_value = x; }
  return workgroupUniformLoad(&tapml_uniform_value);
}
)"},
    {"tapml_hidden", R"(
fn tapml_hidden(x: f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) | tapml_zero()); }
)"},
    {"tapml_hidden_four", R"(
fn tapml_hidden_four(x: vec4<f32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(x) | vec4<u32>(tapml_zero()));
}
)"},
    {"tapml_hidden_i32", R"(
fn tapml_hidden_i32(x: i32) -> i32 { return x | i32(tapml_zero()); }
)"},
    {"tapml_hidden_u32", R"(
fn tapml_hidden_u32(x: u32) -> u32 { return x | tapml_zero(); }
)"},
    {"tapml_is_nan", R"(
fn tapml_is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
)"},
    {"tapml_are_nan", R"(
fn tapml_are_nan(x: vec4<f32>) -> vec4<bool> {
  return (bitcast<vec4<u32>>(x) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);
}
)"},
    {"tapml_round_bf16", R"(
fn tapml_round_bf16(x: f32) -> f32 {
  let bits = bitcast<u32>(x);
  let rounded = bits + 0x7fffu + ((bits >> 16u) & 1u);
  return bitcast<f32>(select(rounded, bits | 0x400000u, (bits & 0x7fffffffu) > 0x7f800000u) &
                      0xffff0000u);
}
)"},
    {"tapml_bits_of_f16", R"(
fn tapml_bits_of_f16(x: f32) -> u32 {
  let bits = bitcast<u32>(x);
  let sign = (bits >> 16u) & 0x8000u;
  let a = bits & 0x7fffffffu;
  if (a > 0x7f800000u) { return sign | 0x7e00u; }
  if (a >= 0x477ff000u) { return sign | 0x7c00u; }
  if (a >= 0x38800000u) { return sign | ((a - 0x38000000u + 0xfffu + ((a >> 13u) & 1u)) >> 13u); }
  if (a <= 0x33000000u) { return sign; }
  let shift = 126u - (a >> 23u);
  let m = (a & 0x7fffffu) | 0x800000u;
  let kept = m >> shift;
  let rest = m & ((1u << shift) - 1u);
  let tie = 1u << (shift - 1u);
  let up = rest > tie || (rest == tie && (kept & 1u) != 0u);
  return sign | (kept + select(0u, 1u, up));
}
)"},
    {"tapml_f16_of_bits", R"(
fn tapml_f16_of_bits(h: u32) -> f32 {
  let sign = (h & 0x8000u) << 16u;
  let a = h & 0x7fffu;
  let small = bitcast<u32>(f32(a) * 5.9604644775390625e-8f);
  let large = (a << 13u) + select(0x70000000u, 0x38000000u, a < 0x7c00u);
  return bitcast<f32>(select(large, small, a < 0x400u) | sign);
}
)"},
    {"tapml_round_f16", R"(
fn tapml_round_f16(x: f32) -> f32 { return tapml_f16_of_bits(tapml_bits_of_f16(x)); }
)"},
    {"tapml_four_bf16", R"(
fn tapml_four_bf16(words: vec2<u32>) -> vec4<f32> {
  return bitcast<vec4<f32>>(vec4<u32>(words.x << 16u, words.x & 0xffff0000u, words.y << 16u,
                                      words.y & 0xffff0000u));
}
)"},
    {"tapml_four_f16", R"(
fn tapml_four_f16(words: vec2<u32>) -> vec4<f32> {
  return vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
}
)"},
    // Four neighbors, the first in the low half of the first word.
    {"tapml_words_of_bf16", R"(
fn tapml_words_of_bf16(x: vec4<f32>) -> vec2<u32> {
  let bits = vec4<u32>(bitcast<u32>(tapml_round_bf16(x.x)), bitcast<u32>(tapml_round_bf16(x.y)),
                       bitcast<u32>(tapml_round_bf16(x.z)), bitcast<u32>(tapml_round_bf16(x.w)));
  return (bits.xz >> vec2<u32>(16u)) | (bits.yw & vec2<u32>(0xffff0000u));
}
)"},
    {"tapml_words_of_f16", R"(
fn tapml_words_of_f16(x: vec4<f32>) -> vec2<u32> {
  return vec2<u32>(tapml_bits_of_f16(x.x) | (tapml_bits_of_f16(x.y) << 16u),
                   tapml_bits_of_f16(x.z) | (tapml_bits_of_f16(x.w) << 16u));
}
)"},
    {"tapml_mul_high_u32", R"(
fn tapml_mul_high_u32(a: u32, b: u32) -> u32 {
  let al = a & 0xffffu;
  let ah = a >> 16u;
  let bl = b & 0xffffu;
  let bh = b >> 16u;
  let middle = (ah * bl) + ((al * bl) >> 16u);
  return (ah * bh) + (middle >> 16u) + (((al * bh) + (middle & 0xffffu)) >> 16u);
}
)"},
    {"tapml_mul_high_i32", R"(
fn tapml_mul_high_i32(a: i32, b: i32) -> i32 {
  let high = bitcast<i32>(tapml_mul_high_u32(bitcast<u32>(a), bitcast<u32>(b)));
  return high - select(0i, b, a < 0i) - select(0i, a, b < 0i);
}
)"},
    {"tapml_to_i32", R"(
fn tapml_to_i32(x: f32, low: f32, beyond: f32, least: i32, most: i32) -> i32 {
  if (tapml_is_nan(x)) { return 0i; }
  if (x >= beyond) { return most; }
  if (x <= low) { return least; }
  return i32(x);
}
)"},
    {"tapml_to_u32", R"(
fn tapml_to_u32(x: f32, beyond: f32, most: u32) -> u32 {
  if (tapml_is_nan(x) || x <= 0.0f) { return 0u; }
  if (x >= beyond) { return most; }
  return u32(x);
}
)"},
    // Integers of 64 bits: the low word, then the high one.
    {"tapml_pair_of_i32", R"(
fn tapml_pair_of_i32(x: i32) -> vec2<u32> { return vec2<u32>(u32(x), u32(x >> 31u)); }
)"},
    {"tapml_add_pair", R"(
fn tapml_add_pair(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let low = a.x + b.x;
  return vec2<u32>(low, a.y + b.y + select(0u, 1u, low < a.x));
}
)"},
    {"tapml_subtract_pair", R"(
fn tapml_subtract_pair(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x - b.x, a.y - b.y - select(0u, 1u, a.x < b.x));
}
)"},
    {"tapml_negated_pair", R"(
fn tapml_negated_pair(x: vec2<u32>) -> vec2<u32> {
  return tapml_subtract_pair(vec2<u32>(0u, 0u), x);
}
)"},
    {"tapml_is_below_zero", R"(
fn tapml_is_below_zero(x: vec2<u32>) -> bool { return (x.y >> 31u) != 0u; }
)"},
    {"tapml_abs_i64", R"(
fn tapml_abs_i64(x: vec2<u32>) -> vec2<u32> {
  return select(x, tapml_negated_pair(x), tapml_is_below_zero(x));
}
)"},
    {"tapml_less_u64", R"(
fn tapml_less_u64(a: vec2<u32>, b: vec2<u32>) -> bool {
  return select(a.y < b.y, a.x < b.x, a.y == b.y);
}
)"},
    {"tapml_less_i64", R"(
fn tapml_less_i64(a: vec2<u32>, b: vec2<u32>) -> bool {
  return select(bitcast<i32>(a.y) < bitcast<i32>(b.y), a.x < b.x, a.y == b.y);
}
)"},
    {"tapml_left_pair", R"(
fn tapml_left_pair(x: vec2<u32>, n: u32) -> vec2<u32> {
  if (n >= 32u) { return vec2<u32>(0u, x.x << (n & 31u)); }
  if (n == 0u) { return x; }
  return vec2<u32>(x.x << n, (x.y << n) | (x.x >> (32u - n)));
}
)"},
    {"tapml_right_u64", R"(
fn tapml_right_u64(x: vec2<u32>, n: u32) -> vec2<u32> {
  if (n >= 32u) { return vec2<u32>(x.y >> (n & 31u), 0u); }
  if (n == 0u) { return x; }
  return vec2<u32>((x.x >> n) | (x.y << (32u - n)), x.y >> n);
}
)"},
    {"tapml_right_i64", R"(
fn tapml_right_i64(x: vec2<u32>, n: u32) -> vec2<u32> {
  let high = bitcast<i32>(x.y);
  if (n >= 32u) { return vec2<u32>(u32(high >> (n & 31u)), u32(high >> 31u)); }
  if (n == 0u) { return x; }
  return vec2<u32>((x.x >> n) | (x.y << (32u - n)), u32(high >> n));
}
)"},
    {"tapml_multiply_pair", R"(
fn tapml_multiply_pair(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(a.x * b.x, tapml_mul_high_u32(a.x, b.x) + (a.x * b.y) + (a.y * b.x));
}
)"},
    // Bit by bit; the divisor is not 0. The quotient, then the remainder.
    {"tapml_long_division", R"(
fn tapml_long_division(a: vec2<u32>, b: vec2<u32>) -> vec4<u32> {
  if (a.y == 0u && b.y == 0u) { return vec4<u32>(a.x / b.x, 0u, a.x % b.x, 0u); }
  var quotient = a;
  var rest = vec2<u32>(0u, 0u);
  for (var i: i32 = 0i; i < 64i; i++) {
    let carry = rest.y >> 31u;
    rest = vec2<u32>((rest.x << 1u) | (quotient.y >> 31u), (rest.y << 1u) | (rest.x >> 31u));
    quotient = vec2<u32>(quotient.x << 1u, (quotient.y << 1u) | (quotient.x >> 31u));
    if (carry != 0u || !tapml_less_u64(rest, b)) {
      rest = tapml_subtract_pair(rest, b);
      quotient.x = quotient.x | 1u;
    }
  }
  return vec4<u32>(quotient, rest);
}
)"},
    {"tapml_divide_u64", R"(
fn tapml_divide_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return tapml_long_division(a, b).xy;
}
)"},
    {"tapml_remainder_u64", R"(
fn tapml_remainder_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  return tapml_long_division(a, b).zw;
}
)"},
    {"tapml_divide_i64", R"(
fn tapml_divide_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let size = tapml_long_division(tapml_abs_i64(a), tapml_abs_i64(b)).xy;
  return select(size, tapml_negated_pair(size), tapml_is_below_zero(a ^ b));
}
)"},
    {"tapml_remainder_i64", R"(
fn tapml_remainder_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let size = tapml_long_division(tapml_abs_i64(a), tapml_abs_i64(b)).zw;
  return select(size, tapml_negated_pair(size), tapml_is_below_zero(a));
}
)"},
    {"tapml_mul_high_u64", R"(
fn tapml_mul_high_u64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let one = vec2<u32>(a.x * b.y, tapml_mul_high_u32(a.x, b.y));
  let other = vec2<u32>(a.y * b.x, tapml_mul_high_u32(a.y, b.x));
  let low = tapml_add_pair(vec2<u32>(one.x, 0u), vec2<u32>(tapml_mul_high_u32(a.x, b.x), 0u));
  let middle = tapml_add_pair(low, vec2<u32>(other.x, 0u));
  let high = vec2<u32>(a.y * b.y, tapml_mul_high_u32(a.y, b.y));
  let carried = tapml_add_pair(vec2<u32>(one.y, 0u), vec2<u32>(other.y, 0u));
  return tapml_add_pair(tapml_add_pair(high, carried), vec2<u32>(middle.y, 0u));
}
)"},
    {"tapml_mul_high_i64", R"(
fn tapml_mul_high_i64(a: vec2<u32>, b: vec2<u32>) -> vec2<u32> {
  let zero = vec2<u32>(0u, 0u);
  let high = tapml_mul_high_u64(a, b);
  let less = tapml_subtract_pair(high, select(zero, b, tapml_is_below_zero(a)));
  return tapml_subtract_pair(less, select(zero, a, tapml_is_below_zero(b)));
}
)"},
    {"tapml_popcount_pair", R"(
fn tapml_popcount_pair(x: vec2<u32>) -> vec2<u32> {
  return vec2<u32>(countOneBits(x.x) + countOneBits(x.y), 0u);
}
)"},
    // The 32 leading bits, the last of them set if any bit after it is: rounded once by f32(u32).
    {"tapml_f32_of_u64", R"(
fn tapml_f32_of_u64(x: vec2<u32>) -> f32 {
  if (x.y == 0u) { return f32(x.x); }
  let shift = 32u - countLeadingZeros(x.y);
  let leading = tapml_right_u64(x, shift);
  let lost = any(tapml_left_pair(leading, shift) != x);
  return f32(leading.x | select(0u, 1u, lost)) * bitcast<f32>((127u + shift) << 23u);
}
)"},
    {"tapml_f32_of_i64", R"(
fn tapml_f32_of_i64(x: vec2<u32>) -> f32 {
  let size = tapml_f32_of_u64(tapml_abs_i64(x));
  return select(size, -size, tapml_is_below_zero(x));
}
)"},
    // Toward zero, of a float in [0, 2^64).
    {"tapml_pair_of_f32", R"(
fn tapml_pair_of_f32(x: f32) -> vec2<u32> {
  if (x < 4294967040.0f) { return vec2<u32>(u32(x), 0u); }
  let bits = bitcast<u32>(x);
  return tapml_left_pair(vec2<u32>((bits & 0x7fffffu) | 0x800000u, 0u), (bits >> 23u) - 150u);
}
)"},
    {"tapml_to_u64", R"(
fn tapml_to_u64(x: f32) -> vec2<u32> {
  if (tapml_is_nan(x) || x <= 0.0f) { return vec2<u32>(0u, 0u); }
  if (x >= 18446744073709551616.0f) { return vec2<u32>(0xffffffffu, 0xffffffffu); }
  return tapml_pair_of_f32(x);
}
)"},
    {"tapml_to_i64", R"(
fn tapml_to_i64(x: f32) -> vec2<u32> {
  if (tapml_is_nan(x)) { return vec2<u32>(0u, 0u); }
  if (x >= 9223372036854775808.0f) { return vec2<u32>(0xffffffffu, 0x7fffffffu); }
  if (x <= -9223372036854775808.0f) { return vec2<u32>(0u, 0x80000000u); }
  let size = tapml_pair_of_f32(abs(x));
  return select(size, tapml_negated_pair(size), x < 0.0f);
}
)"},
};

}  // namespace

std::string wgsl_helpers(const std::string& functions) {
  return used_helpers(kWgslHelpers, functions);
}

}  // namespace tapml::codegen
