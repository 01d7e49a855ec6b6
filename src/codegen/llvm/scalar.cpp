#include "codegen/llvm/scalar.h"

#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <cmath>

#include "codegen/llvm/byte_dot.h"
#include "ir/exceptions.h"

namespace tapml::codegen {

namespace {

bool is_narrow(DType dtype) { return dtype == DType::kBF16 || dtype == DType::kF16; }

llvm::Constant* integer(llvm::Value* like, int64_t value) {
  return llvm::ConstantInt::get(like->getType(), static_cast<uint64_t>(value), true);
}

}  // namespace

llvm::Type* ScalarOps::register_type(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return builder_.getInt1Ty();
    case DType::kF16:
      return lacks_.f16 ? builder_.getInt16Ty() : builder_.getHalfTy();
    case DType::kBF16:
      return builder_.getInt16Ty();
    case DType::kF32:
      return builder_.getFloatTy();
    case DType::kF64:
      return builder_.getDoubleTy();
    default:
      return builder_.getIntNTy(static_cast<unsigned>(dtype_bits(dtype)));
  }
}

llvm::Value* ScalarOps::constant(const PrimExpr& e) {
  if (e.is_int()) return llvm::ConstantInt::get(register_type(e.dtype()), e->int_value, true);
  if (e.dtype() == DType::kF64) {
    return llvm::ConstantFP::get(builder_.getDoubleTy(), e->float_value);
  }
  auto single = static_cast<float>(e->float_value);
  if (e.dtype() == DType::kBF16) return builder_.getInt16(f32_to_bf16(single));
  if (e.dtype() == DType::kF16) {
    if (lacks_.f16) return builder_.getInt16(f32_to_f16(single));
    single = f16_to_f32(f32_to_f16(single));
  }
  return llvm::ConstantFP::get(register_type(e.dtype()), static_cast<double>(single));
}

llvm::Value* ScalarOps::binary(ExprKind kind, DType dtype, llvm::Value* a, llvm::Value* b,
                               Freedom freedom) {
  if (is_narrow(dtype)) {
    auto* value = float_binary(kind, convert(a, dtype, DType::kF32), convert(b, dtype, DType::kF32),
                               freedom.accumulate);
    return is_comparison(kind) ? value : convert(value, DType::kF32, dtype);
  }
  return is_float(dtype) ? float_binary(kind, a, b, freedom.accumulate)
                         : int_binary(kind, dtype, a, b, freedom);
}

llvm::Value* ScalarOps::float_binary(ExprKind kind, llvm::Value* a, llvm::Value* b,
                                     bool accumulate) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  if (accumulate) {
    flags.setAllowReassoc();
    flags.setNoSignedZeros();
  }
  builder_.setFastMathFlags(flags);
  switch (kind) {
    case ExprKind::kAdd:
      return builder_.CreateFAdd(a, b);
    case ExprKind::kSub:
      return builder_.CreateFSub(a, b);
    case ExprKind::kMul:
      return builder_.CreateFMul(a, b);
    case ExprKind::kDiv:
      return builder_.CreateFDiv(a, b);
    case ExprKind::kMin:
    case ExprKind::kMax:
      return extremum(kind, a, b);
    case ExprKind::kEq:
      return builder_.CreateFCmpOEQ(a, b);
    case ExprKind::kNe:
      return builder_.CreateFCmpUNE(a, b);
    case ExprKind::kLt:
      return builder_.CreateFCmpOLT(a, b);
    case ExprKind::kLe:
      return builder_.CreateFCmpOLE(a, b);
    default:
      throw_internal("operation that floats do not have");
  }
}

// NaN if either is. The sign of a zero result is unspecified, which saves half of the work.
llvm::Value* ScalarOps::extremum(ExprKind kind, llvm::Value* a, llvm::Value* b) {
  llvm::IRBuilder<>::FastMathFlagGuard guard(builder_);
  llvm::FastMathFlags flags;
  flags.setNoSignedZeros();
  builder_.setFastMathFlags(flags);
  auto id = kind == ExprKind::kMin ? llvm::Intrinsic::minimum : llvm::Intrinsic::maximum;
  return builder_.CreateBinaryIntrinsic(id, a, b);
}

llvm::Value* ScalarOps::int_binary(ExprKind kind, DType dtype, llvm::Value* a, llvm::Value* b,
                                   Freedom freedom) {
  const bool index = freedom.index;
  bool is_signed = is_signed_integer(dtype);
  switch (kind) {
    case ExprKind::kAdd:
      return builder_.CreateAdd(a, b, "", false, index);
    case ExprKind::kSub:
      return builder_.CreateSub(a, b, "", false, index);
    case ExprKind::kMul:
      return builder_.CreateMul(a, b, "", false, index);
    case ExprKind::kFloorDiv:
      if (freedom.plain) return builder_.CreateUDiv(a, b);
      return division("floor_div", dtype, a, b, index);
    case ExprKind::kFloorMod:
      if (freedom.plain) return builder_.CreateURem(a, b);
      return division("floor_mod", dtype, a, b, index);
    case ExprKind::kMin:
      return builder_.CreateSelect(
          is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b), a, b);
    case ExprKind::kMax:
      return builder_.CreateSelect(
          is_signed ? builder_.CreateICmpSGT(a, b) : builder_.CreateICmpUGT(a, b), a, b);
    case ExprKind::kEq:
      return builder_.CreateICmpEQ(a, b);
    case ExprKind::kNe:
      return builder_.CreateICmpNE(a, b);
    case ExprKind::kLt:
      return is_signed ? builder_.CreateICmpSLT(a, b) : builder_.CreateICmpULT(a, b);
    case ExprKind::kLe:
      return is_signed ? builder_.CreateICmpSLE(a, b) : builder_.CreateICmpULE(a, b);
    case ExprKind::kAnd:
      return builder_.CreateAnd(a, b);
    case ExprKind::kOr:
      return builder_.CreateOr(a, b);
    default:
      throw_internal("operation that integers do not have");
  }
}

// Replaces the divisor by 1 where the hardware would trap: for 0, and for -1 if the dividend may be
// INT_MIN. The remainder is then 0, and the quotient is corrected. Constant divisors need none of
// this.
llvm::Value* ScalarOps::division(const std::string& kind, DType dtype, llvm::Value* a,
                                 llvm::Value* b, bool index) {
  bool is_signed = is_signed_integer(dtype);
  bool quotient = kind.ends_with("div");
  auto* zero = integer(a, 0);
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(b);
  bool may_be_zero = !constant || constant->isZero();
  bool may_overflow = is_signed && (constant ? constant->isMinusOne() : !index);
  llvm::Value *is_zero = nullptr, *is_minus_one = nullptr, *divisor = b;
  if (may_be_zero) {
    is_zero = builder_.CreateICmpEQ(b, zero);
    divisor = builder_.CreateSelect(is_zero, integer(a, 1), divisor);
  }
  if (may_overflow) {
    is_minus_one = builder_.CreateICmpEQ(b, integer(a, -1));
    divisor = builder_.CreateSelect(is_minus_one, integer(a, 1), divisor);
  }
  llvm::Value *q = nullptr, *r = nullptr;
  if (!is_signed) {
    q = quotient ? builder_.CreateUDiv(a, divisor) : nullptr;
    r = quotient ? nullptr : builder_.CreateURem(a, divisor);
  } else if (kind.starts_with("floor")) {
    r = builder_.CreateSRem(a, divisor);
    auto* inexact = builder_.CreateICmpNE(r, zero);
    auto* opposite = builder_.CreateICmpSLT(builder_.CreateXor(r, divisor), zero);
    auto* adjust = builder_.CreateAnd(inexact, opposite);
    if (quotient) {
      q = builder_.CreateSDiv(a, divisor);
      q = builder_.CreateSelect(adjust, builder_.CreateSub(q, integer(a, 1)), q);
    } else {
      r = builder_.CreateSelect(adjust, builder_.CreateAdd(r, divisor), r);
    }
  } else {
    q = quotient ? builder_.CreateSDiv(a, divisor) : nullptr;
    r = quotient ? nullptr : builder_.CreateSRem(a, divisor);
  }
  if (!quotient) return r;
  if (is_minus_one) q = builder_.CreateSelect(is_minus_one, builder_.CreateNeg(a), q);
  if (is_zero) q = builder_.CreateSelect(is_zero, zero, q);
  return q;
}

llvm::Value* ScalarOps::shift(const std::string& name, DType dtype, llvm::Value* a,
                              llvm::Value* b) {
  int64_t width = dtype_bits(dtype);
  auto* near = builder_.CreateICmpULT(b, integer(b, width));
  if (name == "shift_right" && is_signed_integer(dtype)) {
    return builder_.CreateAShr(a, builder_.CreateSelect(near, b, integer(b, width - 1)));
  }
  if (lacks_.narrow_shift && name == "shift_right" && width < 32 && !llvm::isa<llvm::Constant>(b)) {
    // 31 if the result is 0, so that LLVM cannot prove that a narrow shift would do.
    auto* wide = builder_.getInt32Ty();
    auto* by = builder_.CreateSelect(near, builder_.CreateZExt(b, wide), builder_.getInt32(31));
    return builder_.CreateTrunc(builder_.CreateLShr(builder_.CreateZExt(a, wide), by),
                                a->getType());
  }
  auto* amount = builder_.CreateSelect(near, b, integer(b, 0));
  auto* shifted =
      name == "shift_left" ? builder_.CreateShl(a, amount) : builder_.CreateLShr(a, amount);
  return builder_.CreateSelect(near, shifted, integer(a, 0));
}

llvm::Value* ScalarOps::convert(llvm::Value* value, DType from, DType to) {
  if (from == to) return value;
  if (from == DType::kBF16) {
    auto* bits = builder_.CreateShl(builder_.CreateZExt(value, builder_.getInt32Ty()), 16);
    return convert(builder_.CreateBitCast(bits, builder_.getFloatTy()), DType::kF32, to);
  }
  if (from == DType::kF16 && lacks_.f16) return convert(widen_f16(value), DType::kF32, to);
  if (from == DType::kF16 && to != DType::kF32) {
    return convert(builder_.CreateFPExt(value, builder_.getFloatTy()), DType::kF32, to);
  }
  // Converts narrow floats through f32.
  if (is_narrow(to) && from != DType::kF32) value = convert(value, from, DType::kF32);
  if (to == DType::kBF16) return round_to_bf16(value);
  if (to == DType::kF16 && lacks_.f16) return round_to_f16(value);
  auto* type = register_type(to);
  if (to == DType::kF16) return builder_.CreateFPTrunc(value, type);
  if (to == DType::kBool) {
    return is_float(from)
               ? builder_.CreateFCmpUNE(value, llvm::ConstantFP::get(value->getType(), 0))
               : builder_.CreateICmpNE(value, llvm::ConstantInt::get(value->getType(), 0));
  }
  if (is_float(from) && !is_float(to) && dtype_bits(to) < 32) {
    // LLVM's saturating conversions have no vector form on x86-64. The limits of narrow integers
    // are floats.
    const double values = std::ldexp(1.0, static_cast<int>(dtype_bits(to)));
    const double least = is_signed_integer(to) ? -values / 2 : 0;
    auto* real = from == DType::kF64 ? builder_.getDoubleTy() : builder_.getFloatTy();
    auto* x = builder_.CreateFPCast(value, real);
    auto* low = llvm::ConstantFP::get(real, least);
    auto* high = llvm::ConstantFP::get(real, least + values - 1);
    auto* raised = builder_.CreateSelect(builder_.CreateFCmpOLT(x, low), low, x);
    auto* kept = builder_.CreateSelect(builder_.CreateFCmpOGT(x, high), high, raised);
    auto* number =
        builder_.CreateSelect(builder_.CreateFCmpUNO(x, x), llvm::ConstantFP::get(real, 0), kept);
    return builder_.CreateTrunc(builder_.CreateFPToSI(number, builder_.getInt32Ty()), type);
  }
  bool from_signed = is_signed_integer(from);
  if (is_float(from) && is_float(to)) return builder_.CreateFPCast(value, type);
  if (is_float(to)) {
    return from_signed ? builder_.CreateSIToFP(value, type) : builder_.CreateUIToFP(value, type);
  }
  if (is_float(from)) {
    auto id = is_signed_integer(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return builder_.CreateIntrinsic(id, {type, value->getType()}, {value});
  }
  return builder_.CreateIntCast(value, type, from_signed);
}

// Rounds to nearest even on the bits; NaN stays a quiet NaN.
llvm::Value* ScalarOps::round_to_bf16(llvm::Value* value) {
  auto* bits = builder_.CreateBitCast(value, builder_.getInt32Ty());
  auto* odd = builder_.CreateAnd(builder_.CreateLShr(bits, 16), builder_.getInt32(1));
  auto* rounded = builder_.CreateAdd(bits, builder_.CreateAdd(odd, builder_.getInt32(0x7fff)));
  auto* quiet = builder_.CreateOr(bits, builder_.getInt32(0x400000));
  auto* nan = builder_.CreateFCmpUNO(value, value);
  auto* high = builder_.CreateLShr(builder_.CreateSelect(nan, quiet, rounded), 16);
  return builder_.CreateTrunc(high, builder_.getInt16Ty());
}

llvm::Value* ScalarOps::bits_of(llvm::Value* value) {
  return builder_.CreateBitCast(
      value, value->getType()->isDoubleTy() ? builder_.getInt64Ty() : builder_.getInt32Ty());
}

// A multiplication adjusts the exponent, which turns f16 subnormals into normal f32 numbers.
llvm::Value* ScalarOps::widen_f16(llvm::Value* bits) {
  auto* wide = builder_.CreateZExt(bits, builder_.getInt32Ty());
  auto* magnitude = builder_.CreateShl(builder_.CreateAnd(wide, 0x7fff), 13);
  auto* number = builder_.CreateFMul(builder_.CreateBitCast(magnitude, builder_.getFloatTy()),
                                     llvm::ConstantFP::get(builder_.getFloatTy(), 0x1p112));
  auto* special = builder_.CreateICmpUGE(magnitude, builder_.getInt32(0x7c00U << 13));
  auto* result =
      builder_.CreateSelect(special, builder_.CreateOr(magnitude, 0x7f800000), bits_of(number));
  auto* sign = builder_.CreateShl(builder_.CreateAnd(wide, 0x8000), 16);
  return builder_.CreateBitCast(builder_.CreateOr(result, sign), builder_.getFloatTy());
}

// Rounds to nearest even: normal numbers on the bits, with a carry into the exponent and up to
// infinity; subnormals by an addition whose last place is f16's. NaN stays a quiet NaN.
llvm::Value* ScalarOps::round_to_f16(llvm::Value* value) {
  auto* bits = bits_of(value);
  auto* magnitude = builder_.CreateAnd(bits, 0x7fffffff);
  auto* odd = builder_.CreateAnd(builder_.CreateLShr(magnitude, 13), 1);
  auto* moved = builder_.CreateAdd(magnitude, builder_.getInt32(0xc8000fffU));
  auto* normal = builder_.CreateLShr(builder_.CreateAdd(moved, odd), 13);
  auto* half = llvm::ConstantFP::get(builder_.getFloatTy(), 0.5);
  auto* small = builder_.CreateSub(
      bits_of(builder_.CreateFAdd(builder_.CreateBitCast(magnitude, builder_.getFloatTy()), half)),
      builder_.getInt32(0x3f000000));
  auto* quiet =
      builder_.CreateOr(builder_.CreateAnd(builder_.CreateLShr(magnitude, 13), 0x3ff), 0x7e00);
  auto at_least = [&](uint32_t limit) {
    return builder_.CreateICmpUGE(magnitude, builder_.getInt32(limit));
  };
  llvm::Value* result = builder_.CreateSelect(at_least(0x38800000), normal, small);
  result = builder_.CreateSelect(at_least(0x47800000), builder_.getInt32(0x7c00), result);
  result = builder_.CreateSelect(at_least(0x7f800001), quiet, result);
  auto* sign = builder_.CreateAnd(builder_.CreateLShr(bits, 16), 0x8000);
  return builder_.CreateTrunc(builder_.CreateOr(result, sign), builder_.getInt16Ty());
}

// Portable math writes sums and products that must be rounded separately as an fma with 1 or -0. An
// f32 product is exact in f64; rounding the f64 sum to odd avoids double rounding.
llvm::Value* ScalarOps::fma(const std::vector<llvm::Value*>& args) {
  auto is = [](llvm::Value* value, double number) {
    auto* constant = llvm::dyn_cast<llvm::ConstantFP>(value);
    return constant && constant->isExactlyValue(number);
  };
  llvm::Type* type = args[0]->getType();
  if (lacks_.fma && is(args[1], 1)) return builder_.CreateFAdd(args[0], args[2]);
  if (lacks_.fma && is(args[1], -1)) return builder_.CreateFSub(args[2], args[0]);
  if (lacks_.fma && is(args[2], -0.0)) return builder_.CreateFMul(args[0], args[1]);
  if (!lacks_.fma || !type->isFloatTy()) {
    return builder_.CreateIntrinsic(llvm::Intrinsic::fma, {type}, args);
  }
  auto wide = [&](llvm::Value* value) {
    return builder_.CreateFPExt(value, builder_.getDoubleTy());
  };
  auto* a = builder_.CreateFMul(wide(args[0]), wide(args[1]));
  auto* b = wide(args[2]);
  auto* s = builder_.CreateFAdd(a, b);
  auto* t = builder_.CreateFSub(s, a);
  auto* error = builder_.CreateFAdd(builder_.CreateFSub(a, builder_.CreateFSub(s, t)),
                                    builder_.CreateFSub(b, t));
  auto* zero = llvm::ConstantFP::get(builder_.getDoubleTy(), 0);
  auto* bits = bits_of(s);
  auto* even = builder_.CreateICmpEQ(builder_.CreateAnd(bits, 1), builder_.getInt64(0));
  auto* inexact = builder_.CreateAnd(builder_.CreateFCmpONE(error, zero), even);
  auto* away =
      builder_.CreateICmpEQ(builder_.CreateFCmpOGT(error, zero), builder_.CreateFCmpOGT(s, zero));
  auto* step = builder_.CreateSelect(away, builder_.getInt64(1), builder_.getInt64(-1));
  auto* to_odd = builder_.CreateSelect(inexact, builder_.CreateAdd(bits, step), bits);
  return builder_.CreateFPTrunc(builder_.CreateBitCast(to_odd, builder_.getDoubleTy()), type);
}

llvm::Value* ScalarOps::call(const std::string& name, const std::vector<llvm::Value*>& args,
                             DType from, DType to) {
  if (name == "reinterpret") return builder_.CreateBitCast(args[0], register_type(to));
  if (!is_float(from)) return int_call(name, args, from);
  if (from == DType::kF64) {
    auto* value = float_call(name, args);
    return value ? value : libm_call(name, args);
  }
  std::vector<llvm::Value*> wide;
  for (llvm::Value* arg : args) wide.push_back(convert(arg, from, DType::kF32));
  auto* value = float_call(name, wide);
  return value && is_float(to) ? convert(value, DType::kF32, to) : value;
}

llvm::Value* ScalarOps::int_call(const std::string& name, const std::vector<llvm::Value*>& args,
                                 DType dtype) {
  llvm::Value* a = args[0];
  if (name == "abs") {
    if (is_unsigned_integer(dtype)) return a;
    return builder_.CreateIntrinsic(llvm::Intrinsic::abs, {a->getType()}, {a, builder_.getFalse()});
  }
  if (name == "sign") {
    auto* set = builder_.CreateZExt(builder_.CreateICmpNE(a, integer(a, 0)), a->getType());
    if (is_unsigned_integer(dtype)) return set;
    return builder_.CreateOr(builder_.CreateAShr(a, static_cast<uint64_t>(dtype_bits(dtype)) - 1),
                             set);
  }
  if (name == "shift_left" || name == "shift_right") return shift(name, dtype, a, args[1]);
  if (name == "trunc_div" || name == "trunc_mod") return division(name, dtype, a, args[1], false);
  if (name == "mul_high") {
    unsigned bits = static_cast<unsigned>(dtype_bits(dtype));
    auto* wide = builder_.getIntNTy(2 * bits);
    bool is_signed = is_signed_integer(dtype);
    auto* product = builder_.CreateMul(builder_.CreateIntCast(a, wide, is_signed),
                                       builder_.CreateIntCast(args[1], wide, is_signed));
    return builder_.CreateTrunc(builder_.CreateLShr(product, bits), a->getType());
  }
  if (name == "popcount") return builder_.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, a);
  if (name == "dot4") return call_byte_dot(builder_, args);
  if (name == "bit_and") return builder_.CreateAnd(a, args[1]);
  if (name == "bit_or") return builder_.CreateOr(a, args[1]);
  if (name == "bit_xor") return builder_.CreateXor(a, args[1]);
  if (name == "bit_not") return builder_.CreateNot(a);
  return nullptr;
}

llvm::Value* ScalarOps::float_call(const std::string& name, const std::vector<llvm::Value*>& args) {
  llvm::Value* a = args[0];
  auto number = [&](double value) { return llvm::ConstantFP::get(a->getType(), value); };
  auto unary = [&](llvm::Intrinsic::ID id) { return builder_.CreateUnaryIntrinsic(id, a); };
  if (name == "isnan") return builder_.CreateFCmpUNO(a, a);
  if (name == "isinf") {
    return builder_.CreateFCmpOEQ(unary(llvm::Intrinsic::fabs), number(HUGE_VAL));
  }
  if (name == "isfinite") {
    return builder_.CreateFCmpOLT(unary(llvm::Intrinsic::fabs), number(HUGE_VAL));
  }
  if (name == "sqrt") return unary(llvm::Intrinsic::sqrt);
  if (name == "rsqrt") return builder_.CreateFDiv(number(1), unary(llvm::Intrinsic::sqrt));
  if (name == "fma") return fma(args);
  if (name == "floor") return unary(llvm::Intrinsic::floor);
  if (name == "ceil") return unary(llvm::Intrinsic::ceil);
  if (name == "trunc") return unary(llvm::Intrinsic::trunc);
  if (name == "round") return unary(llvm::Intrinsic::rint);
  if (name == "abs") return unary(llvm::Intrinsic::fabs);
  if (name == "sign") {
    auto* one = builder_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, number(1), a);
    auto* outside = builder_.CreateFCmpONE(a, number(0));
    auto* nan = builder_.CreateFCmpUNO(a, a);
    return builder_.CreateSelect(nan, a, builder_.CreateSelect(outside, one, number(0)));
  }
  return nullptr;
}

// For f64, call the C library's function.
llvm::Value* ScalarOps::libm_call(const std::string& name, const std::vector<llvm::Value*>& args) {
  std::vector<llvm::Type*> types(args.size(), builder_.getDoubleTy());
  auto* type = llvm::FunctionType::get(builder_.getDoubleTy(), types, false);
  auto* module = builder_.GetInsertBlock()->getModule();
  llvm::FunctionCallee callee = module->getOrInsertFunction(name, type);
  auto* function = llvm::cast<llvm::Function>(callee.getCallee());
  function->setDoesNotAccessMemory();
  function->setDoesNotThrow();
  function->addFnAttr(llvm::Attribute::WillReturn);
  return builder_.CreateCall(callee, args);
}

}  // namespace tapml::codegen
