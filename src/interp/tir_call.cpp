// Calls of scalar functions (ir/intrinsics.h) in tensor programs, by the C library in double with
// the result rounded to the dtype.
#include <bit>
#include <cmath>

#include "interp/tir_leaf.h"

namespace tapml::interp {

namespace {

using IntFunction = int64_t (*)(int64_t, int64_t);

// Functions of two integers that are read as signed or unsigned 64-bit numbers, then wrapped.
IntFunction integer_function(const std::string& name, bool wide_unsigned) {
  if (name == "bit_and") return [](int64_t a, int64_t b) { return a & b; };
  if (name == "bit_or") return [](int64_t a, int64_t b) { return a | b; };
  if (name == "bit_xor") return [](int64_t a, int64_t b) { return a ^ b; };
  if (name == "trunc_div" && wide_unsigned) {
    return [](int64_t a, int64_t b) {
      return b == 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
    };
  }
  if (name == "trunc_div") {
    return [](int64_t a, int64_t b) { return b == 0 ? 0 : (b == -1 ? wrapping_sub(0, a) : a / b); };
  }
  if (name == "trunc_mod" && wide_unsigned) {
    return [](int64_t a, int64_t b) {
      return b == 0 ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
    };
  }
  if (name == "trunc_mod") {
    return [](int64_t a, int64_t b) { return b == 0 || b == -1 ? 0 : a % b; };
  }
  return nullptr;
}

// Whether the shift amount is negative or at least the width, including u64 amounts.
bool too_far(int64_t amount, int bits) { return static_cast<uint64_t>(amount) >= uint64_t(bits); }

double sign_of(double a) { return a != a ? a : static_cast<double>((a > 0) - (a < 0)); }

using FloatFunction = double (*)(double);
struct NamedFunction {
  const char* name;
  FloatFunction function;
};
constexpr NamedFunction kUnary[] = {
    {"exp", std::exp},         {"exp2", std::exp2},   {"expm1", std::expm1}, {"log", std::log},
    {"log2", std::log2},       {"log10", std::log10}, {"sin", std::sin},     {"cos", std::cos},
    {"tan", std::tan},         {"asin", std::asin},   {"acos", std::acos},   {"atan", std::atan},
    {"sinh", std::sinh},       {"cosh", std::cosh},   {"tanh", std::tanh},   {"asinh", std::asinh},
    {"acosh", std::acosh},     {"atanh", std::atanh}, {"erf", std::erf},     {"sqrt", std::sqrt},
    {"floor", std::floor},     {"ceil", std::ceil},   {"trunc", std::trunc}, {"abs", std::fabs},
    {"round", std::nearbyint}, {"sign", sign_of},
};

}  // namespace

IntPtr ExprCompiler::integer_call(const PrimExpr& expr) {
  const std::string& name = expr->name;
  const PrimExpr& first = expr.operand(0);
  DType dtype = expr.dtype();
  if (name == "isnan" || name == "isinf" || name == "isfinite") {
    bool (*test)(double) = [](double a) -> bool { return std::isnan(a); };
    if (name == "isinf") test = [](double a) -> bool { return std::isinf(a); };
    if (name == "isfinite") test = [](double a) -> bool { return std::isfinite(a); };
    return make_int_code([test, a = floating(first)](Frame& frame) -> int64_t {
      return test(a->run(frame)) ? 1 : 0;
    });
  }
  if (name == "reinterpret") {
    if (!is_float(first.dtype())) {
      return make_int_code(
          [dtype, a = integer(first)](Frame& frame) { return wrap_integer(dtype, a->run(frame)); });
    }
    return make_int_code([dtype, source = first.dtype(), a = floating(first)](Frame& frame) {
      std::byte bits[8] = {};
      store_float(source, bits, 0, a->run(frame));
      return load_integer(dtype, bits, 0);
    });
  }
  bool is_unsigned = is_unsigned_integer(dtype);
  int bits = dtype_bits(dtype);
  if (name == "abs") {
    return make_int_code([dtype, is_unsigned, a = integer(first)](Frame& frame) {
      int64_t value = a->run(frame);
      return wrap_integer(dtype, value < 0 && !is_unsigned ? wrapping_sub(0, value) : value);
    });
  }
  if (name == "sign") {
    return make_int_code([is_unsigned, a = integer(first)](Frame& frame) -> int64_t {
      int64_t value = a->run(frame);
      return value < 0 && !is_unsigned ? -1 : (value != 0 ? 1 : 0);
    });
  }
  if (name == "bit_not") {
    return make_int_code([dtype, a = integer(first)](Frame& frame) {
      int64_t value = a->run(frame);
      return dtype == DType::kBool ? 1 - value : wrap_integer(dtype, ~value);
    });
  }
  if (name == "popcount") {
    return make_int_code([bits, a = integer(first)](Frame& frame) -> int64_t {
      auto value = static_cast<uint64_t>(a->run(frame));
      return std::popcount(bits == 64 ? value : value & ((uint64_t{1} << bits) - 1));
    });
  }
  if (name == "dot4") {
    return make_int_code([a = integer(first), b = integer(expr.operand(1)),
                          c = integer(expr.operand(2))](Frame& frame) -> int64_t {
      const auto x = static_cast<uint64_t>(a->run(frame));
      const auto y = static_cast<uint64_t>(b->run(frame));
      int64_t sum = c->run(frame);
      for (int shift = 0; shift < 32; shift += 8) {
        sum += static_cast<int64_t>(x >> shift & 255) * static_cast<int8_t>(y >> shift & 255);
      }
      return wrap_integer(DType::kI32, sum);
    });
  }
  if (expr->operands.size() != 2) unsupported(expr);
  auto binary = [&](auto f) {
    return int_binary(dtype, integer(first), integer(expr.operand(1)), f);
  };
  if (name == "shift_left") {
    return binary([bits](int64_t a, int64_t b) -> int64_t {
      return too_far(b, bits) ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
    });
  }
  if (name == "shift_right") {
    return binary([bits, is_unsigned](int64_t a, int64_t b) -> int64_t {
      if (is_unsigned) {
        return too_far(b, bits) ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) >> b);
      }
      return a >> (too_far(b, bits) ? 63 : b);
    });
  }
  if (name == "mul_high") {
    return binary([bits, is_unsigned](int64_t a, int64_t b) -> int64_t {
      if (is_unsigned) {
        auto product =
            static_cast<unsigned __int128>(static_cast<uint64_t>(a)) * static_cast<uint64_t>(b);
        return static_cast<int64_t>(product >> bits);
      }
      return static_cast<int64_t>((static_cast<__int128>(a) * b) >> bits);
    });
  }
  if (IntFunction function = integer_function(name, dtype == DType::kU64)) return binary(function);
  unsupported(expr);
}

FloatPtr ExprCompiler::float_call(const PrimExpr& expr) {
  const std::string& name = expr->name;
  DType dtype = expr.dtype();
  if (name == "reinterpret") {
    const PrimExpr& from = expr.operand(0);
    if (is_float(from.dtype())) return floating(from);
    return make_float_code([dtype, source = from.dtype(), a = integer(from)](Frame& frame) {
      std::byte bits[8] = {};
      store_integer(source, bits, 0, a->run(frame));
      return load_float(dtype, bits, 0);
    });
  }
  if (name == "fma") {
    return make_float_code([dtype, a = floating(expr.operand(0)), b = floating(expr.operand(1)),
                            c = floating(expr.operand(2))](Frame& frame) -> double {
      double x = a->run(frame), y = b->run(frame), z = c->run(frame);
      if (dtype == DType::kF64) return std::fma(x, y, z);
      float single = std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z));
      return round_float(dtype, static_cast<double>(single));
    });
  }
  if (name == "pow") {
    return float_binary(dtype, floating(expr.operand(0)), floating(expr.operand(1)),
                        [](double a, double b) { return std::pow(a, b); });
  }
  if (expr->operands.size() != 1) unsupported(expr);
  if (name == "rsqrt") {
    // Two roundings in f32 (f64), as processors do; narrow floats compute in f32.
    DType inner = dtype == DType::kF64 ? dtype : DType::kF32;
    FloatPtr root =
        float_unary(inner, floating(expr.operand(0)), [](double a) { return std::sqrt(a); });
    FloatPtr quotient = float_unary(inner, std::move(root), [](double a) { return 1 / a; });
    if (inner == dtype) return quotient;
    return float_unary(dtype, std::move(quotient), [](double a) { return a; });
  }
  for (const NamedFunction& entry : kUnary) {
    if (name == entry.name) return float_unary(dtype, floating(expr.operand(0)), entry.function);
  }
  unsupported(expr);
}

}  // namespace tapml::interp
