// Expressions of tensor programs; calls of scalar functions are in tir_call.cpp.
#include <cmath>

#include "interp/tir_leaf.h"
#include "ir/exceptions.h"

namespace tapml::interp {

namespace {

template <class F>
IntPtr compare_ints(bool wide_unsigned, IntPtr a, IntPtr b, F f) {
  return make_int_code([wide_unsigned, a = std::move(a), b = std::move(b), f](Frame& frame) {
    int64_t x = a->run(frame), y = b->run(frame);
    bool result = wide_unsigned ? f(static_cast<uint64_t>(x), static_cast<uint64_t>(y)) : f(x, y);
    return static_cast<int64_t>(result);
  });
}

template <class F>
IntPtr compare(ExprCompiler& compiler, const PrimExpr& expr, F f) {
  const PrimExpr &a = expr.operand(0), &b = expr.operand(1);
  if (is_float(a.dtype())) {
    return make_int_code(
        [a = compiler.floating(a), b = compiler.floating(b), f](Frame& frame) -> int64_t {
          double x = a->run(frame);
          return f(x, b->run(frame)) ? 1 : 0;
        });
  }
  return compare_ints(a.dtype() == DType::kU64, compiler.integer(a), compiler.integer(b), f);
}

// Toward zero, saturating; NaN is 0 (true as a bool: it differs from 0).
int64_t float_to_integer(DType dtype, double value) {
  if (dtype == DType::kBool) return value != 0 ? 1 : 0;
  if (std::isnan(value)) return 0;
  double whole = std::trunc(value);
  int bits = dtype_bits(dtype);
  if (is_unsigned_integer(dtype)) {
    if (whole <= 0) return 0;
    if (whole >= std::ldexp(1.0, bits)) return wrap_integer(dtype, -1);
    return static_cast<int64_t>(static_cast<uint64_t>(whole));
  }
  double limit = std::ldexp(1.0, bits - 1);
  if (whole >= limit) return bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  if (whole < -limit) return bits == 64 ? INT64_MIN : -(int64_t{1} << (bits - 1));
  return static_cast<int64_t>(whole);
}

// Conversion to narrow floats goes through f32, which rounds twice.
double integer_to_float(DType dtype, DType source, int64_t value) {
  bool wide_unsigned = source == DType::kU64;
  if (dtype == DType::kF64) {
    return wide_unsigned ? static_cast<double>(static_cast<uint64_t>(value))
                         : static_cast<double>(value);
  }
  float single =
      wide_unsigned ? static_cast<float>(static_cast<uint64_t>(value)) : static_cast<float>(value);
  return round_float(dtype, static_cast<double>(single));
}

}  // namespace

size_t ExprCompiler::slot(const Var& var) {
  auto& slots = is_float(var.dtype()) ? floats_ : ints_;
  return slots.try_emplace(var.get(), slots.size()).first->second;
}

size_t ExprCompiler::buffer_slot(const tir::Buffer& buffer, bool declare) {
  auto it = buffers_.find(buffer.get());
  if (it != buffers_.end()) return it->second;
  if (!declare) throw_internal("buffer " + buffer->name + " is used but not allocated");
  return buffers_.try_emplace(buffer.get(), buffers_.size()).first->second;
}

Frame ExprCompiler::make_frame() const {
  Frame frame;
  frame.ints.resize(ints_.size());
  frame.floats.resize(floats_.size());
  frame.buffers.resize(buffers_.size());
  return frame;
}

IntPtr ExprCompiler::offset(const tir::Buffer& buffer, const std::vector<PrimExpr>& indices) {
  size_t slot = buffer_slot(buffer);
  std::vector<IntPtr> codes;
  for (const PrimExpr& index : indices) codes.push_back(integer(index));
  std::string name = buffer->name;
  const bool strided = !buffer->strides.empty();
  return make_int_code([slot, name, strided, codes = std::move(codes)](Frame& frame) {
    int64_t position = 0;
    for (size_t d = 0; d < codes.size(); ++d) {
      int64_t index = codes[d]->run(frame);
      int64_t extent = frame.buffers[slot].dims[d];
      if (index < 0 || index >= extent) {
        throw_internal("index " + std::to_string(index) + " is outside dimension " +
                       std::to_string(d) + " of buffer " + name + ", which has extent " +
                       std::to_string(extent));
      }
      position =
          strided ? position + index * frame.buffers[slot].strides[d] : position * extent + index;
    }
    return position;
  });
}

IntPtr ExprCompiler::integer(const PrimExpr& expr) {
  DType dtype = expr.dtype();
  if (is_float(dtype)) throw_internal("a float where an integer is expected: " + to_string(expr));
  auto binary = [&](auto f) {
    return int_binary(dtype, integer(expr.operand(0)), integer(expr.operand(1)), f);
  };
  bool wide_unsigned = dtype == DType::kU64;
  switch (expr.kind()) {
    case ExprKind::kInt:
      return make_int_code([value = expr->int_value](Frame&) { return value; });
    case ExprKind::kVar:
      return make_int_code([slot = slot(expr)](Frame& frame) { return frame.ints[slot]; });
    case ExprKind::kAdd:
      return binary(wrapping_add);
    case ExprKind::kSub:
      return binary(wrapping_sub);
    case ExprKind::kMul:
      return binary(wrapping_mul);
    case ExprKind::kFloorDiv:
      return binary([wide_unsigned](int64_t a, int64_t b) {
        if (b == 0 || !wide_unsigned) return floor_div(a, b);
        return static_cast<int64_t>(static_cast<uint64_t>(a) / static_cast<uint64_t>(b));
      });
    case ExprKind::kFloorMod:
      return binary([wide_unsigned](int64_t a, int64_t b) {
        if (b == 0 || !wide_unsigned) return floor_mod(a, b);
        return static_cast<int64_t>(static_cast<uint64_t>(a) % static_cast<uint64_t>(b));
      });
    case ExprKind::kMin:
      return binary([wide_unsigned](int64_t a, int64_t b) {
        bool less = wide_unsigned ? static_cast<uint64_t>(b) < static_cast<uint64_t>(a) : b < a;
        return less ? b : a;
      });
    case ExprKind::kMax:
      return binary([wide_unsigned](int64_t a, int64_t b) {
        bool less = wide_unsigned ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
        return less ? b : a;
      });
    case ExprKind::kEq:
      return compare(*this, expr, [](auto a, auto b) { return a == b; });
    case ExprKind::kNe:
      return compare(*this, expr, [](auto a, auto b) { return a != b; });
    case ExprKind::kLt:
      return compare(*this, expr, [](auto a, auto b) { return a < b; });
    case ExprKind::kLe:
      return compare(*this, expr, [](auto a, auto b) { return a <= b; });
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return make_int_code([a = integer(expr.operand(0)), b = integer(expr.operand(1)),
                            is_and = expr.kind() == ExprKind::kAnd](Frame& frame) -> int64_t {
        bool first = a->run(frame) != 0;
        if (first != is_and) return first ? 1 : 0;
        return b->run(frame) != 0 ? 1 : 0;
      });
    case ExprKind::kNot:
      return make_int_code([a = integer(expr.operand(0))](Frame& frame) -> int64_t {
        return a->run(frame) == 0 ? 1 : 0;
      });
    case ExprKind::kSelect:
      return make_int_code([condition = integer(expr.operand(0)), a = integer(expr.operand(1)),
                            b = integer(expr.operand(2))](Frame& frame) {
        return condition->run(frame) != 0 ? a->run(frame) : b->run(frame);
      });
    case ExprKind::kCast: {
      const PrimExpr& from = expr.operand(0);
      if (is_float(from.dtype())) {
        return make_int_code([dtype, a = floating(from)](Frame& frame) {
          return float_to_integer(dtype, a->run(frame));
        });
      }
      return make_int_code(
          [dtype, a = integer(from)](Frame& frame) { return wrap_integer(dtype, a->run(frame)); });
    }
    case ExprKind::kLoad: {
      tir::Buffer buffer = tir::load_buffer(expr);
      return make_int_code([dtype, buffer_index = buffer_slot(buffer),
                            at = offset(buffer, expr->operands)](Frame& frame) {
        int64_t position = at->run(frame);
        return load_integer(dtype, frame.buffers[buffer_index].data, position);
      });
    }
    case ExprKind::kLet: {
      const Var& var = expr.operand(0);
      size_t target = slot(var);
      if (is_float(var.dtype())) {
        return make_int_code([target, value = floating(expr.operand(1)),
                              body = integer(expr.operand(2))](Frame& frame) {
          frame.floats[target] = value->run(frame);
          return body->run(frame);
        });
      }
      return make_int_code([target, value = integer(expr.operand(1)),
                            body = integer(expr.operand(2))](Frame& frame) {
        frame.ints[target] = value->run(frame);
        return body->run(frame);
      });
    }
    case ExprKind::kCall:
      return integer_call(expr);
    default:
      unsupported(expr);
  }
}

FloatPtr ExprCompiler::floating(const PrimExpr& expr) {
  DType dtype = expr.dtype();
  if (!is_float(dtype)) throw_internal("an integer where a float is expected: " + to_string(expr));
  auto binary = [&](auto f) {
    return float_binary(dtype, floating(expr.operand(0)), floating(expr.operand(1)), f);
  };
  switch (expr.kind()) {
    case ExprKind::kFloat:
      return make_float_code(
          [value = round_float(dtype, expr->float_value)](Frame&) { return value; });
    case ExprKind::kVar:
      return make_float_code([slot = slot(expr)](Frame& frame) { return frame.floats[slot]; });
    case ExprKind::kAdd:
      return binary([](double a, double b) { return a + b; });
    case ExprKind::kSub:
      return binary([](double a, double b) { return a - b; });
    case ExprKind::kMul:
      return binary([](double a, double b) { return a * b; });
    case ExprKind::kDiv:
      return binary([](double a, double b) { return a / b; });
    case ExprKind::kMin:
      return binary([](double a, double b) { return b < a || b != b ? b : a; });
    case ExprKind::kMax:
      return binary([](double a, double b) { return a < b || b != b ? b : a; });
    case ExprKind::kSelect:
      return make_float_code([condition = integer(expr.operand(0)), a = floating(expr.operand(1)),
                              b = floating(expr.operand(2))](Frame& frame) {
        return condition->run(frame) != 0 ? a->run(frame) : b->run(frame);
      });
    case ExprKind::kCast: {
      const PrimExpr& from = expr.operand(0);
      if (is_float(from.dtype())) {
        return float_unary(dtype, floating(from), [](double a) { return a; });
      }
      return make_float_code(
          [dtype, source = from.dtype(), a = integer(from)](Frame& frame) -> double {
            return integer_to_float(dtype, source, a->run(frame));
          });
    }
    case ExprKind::kLoad: {
      tir::Buffer buffer = tir::load_buffer(expr);
      return make_float_code([dtype, buffer_index = buffer_slot(buffer),
                              at = offset(buffer, expr->operands)](Frame& frame) {
        int64_t position = at->run(frame);
        return load_float(dtype, frame.buffers[buffer_index].data, position);
      });
    }
    case ExprKind::kLet: {
      const Var& var = expr.operand(0);
      size_t target = slot(var);
      if (is_float(var.dtype())) {
        return make_float_code([target, value = floating(expr.operand(1)),
                                body = floating(expr.operand(2))](Frame& frame) {
          frame.floats[target] = value->run(frame);
          return body->run(frame);
        });
      }
      return make_float_code([target, value = integer(expr.operand(1)),
                              body = floating(expr.operand(2))](Frame& frame) {
        frame.ints[target] = value->run(frame);
        return body->run(frame);
      });
    }
    case ExprKind::kCall:
      return float_call(expr);
    default:
      unsupported(expr);
  }
}

}  // namespace tapml::interp
