// The scalar functions that tensor programs may call, in one table. They mean the same on every
// target and in the interpreter; docs/semantics.md has the reasons and the measured errors.
//
// Expressions also use the nodes of ir/expr.h. Their meaning on data:
//   + - *         integers wrap in their dtype's width; f16 and bf16 are computed in f32 and
//                 rounded after every step.
//   // %          (kFloorDiv, kFloorMod) integers; round toward minus infinity, the remainder has
//                 the sign of the divisor; x // 0 and x % 0 are 0; INT_MIN // -1 is INT_MIN.
//   /             floats, IEEE.
//   min max       NaN if either operand is; of two zeros either may be returned.
//   == < <=       false if an operand is NaN; != is then true.
//   cast          float to integer: toward zero, saturating, NaN gives 0. Integer to integer: wraps
//                 (bool is 0 or 1). Anything to bool: x != 0, so NaN gives true. To a narrower
//                 float: nearest even, overflow to infinity; f16 and bf16 go through f32.
//   select        only the chosen side is evaluated.
// Arithmetic of i64 without loads (loop variables, dimensions, constants) is index arithmetic: it
// must not overflow. Whatever comes from a buffer, or from a float, is data.
//
// Angles are radians. Results are NaN outside a function's domain. Functions marked "portable math"
// are within 2 ULP in f32 (f16 and bf16 through f32) on every target; in f64 they are the
// platform's.
#pragma once

#include <span>
#include <string_view>

#include "ir/expr.h"

namespace tapml {

// What the operands may be; all operands have one dtype.
enum class IntrinsicDomain : unsigned char {
  kFloat,
  kInteger,  // signed and unsigned
  kBits,     // integers and bool
  kNumber,   // floats and integers
  kWord,     // i32 alone
  kAny,
};

enum class IntrinsicResult : unsigned char {
  kSame,   // the operands' dtype
  kBool,   // bool: written first in the text form, isnan(bool, x)
  kGiven,  // the call states it
};

struct IntrinsicInfo {
  const char* name;
  int operands;
  // Whether lower_math replaces it by a polynomial, unless the platform's function is within 2 ULP.
  bool needs_math;
  const char* doc;
  IntrinsicDomain domain = IntrinsicDomain::kFloat;
  IntrinsicResult result = IntrinsicResult::kSame;
};

// make_call(name, dtype, operands) of ir/expr.h calls one; see the table in ir/intrinsics.cpp.
//
// portable math:  exp exp2 expm1 log log2 log10 pow sin cos tan asin acos atan sinh cosh tanh asinh
//            acosh atanh erf
// floats:    sqrt rsqrt fma floor ceil trunc round
// to bool:   isnan isinf isfinite
// numbers:   abs sign
// integers:  shift_left shift_right trunc_div trunc_mod mul_high popcount
// bits:      bit_and bit_or bit_xor bit_not (bool too)
// words:     dot4
// any:       reinterpret
std::span<const IntrinsicInfo> intrinsic_table();
const IntrinsicInfo* find_intrinsic(std::string_view name);

// A call of dot4 by shifts, products and sums, for languages without such a function.
PrimExpr expanded_dot4(const PrimExpr& call);

}  // namespace tapml
