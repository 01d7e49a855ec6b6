// Expression nodes made from plain functions. Private to the interpreter of tensor programs.
#pragma once

#include <memory>
#include <utility>

#include "interp/tir_code.h"
#include "ir/exceptions.h"

namespace tapml::interp {

[[noreturn]] inline void unsupported(const PrimExpr& expr) {
  throw_internal("the interpreter cannot evaluate " + to_string(expr));
}

template <class Base, class F>
struct Leaf final : Base {
  explicit Leaf(F f) : f(std::move(f)) {}
  auto run(Frame& frame) const -> decltype(std::declval<const Base&>().run(frame)) override {
    return f(frame);
  }
  F f;
};

template <class F>
IntPtr make_int_code(F f) {
  return std::make_unique<Leaf<IntCode, F>>(std::move(f));
}
template <class F>
FloatPtr make_float_code(F f) {
  return std::make_unique<Leaf<FloatCode, F>>(std::move(f));
}

// f(a, b) on integers, wrapped to dtype.
template <class F>
IntPtr int_binary(DType dtype, IntPtr a, IntPtr b, F f) {
  if (dtype == DType::kI64 || dtype == DType::kU64) {
    return make_int_code([a = std::move(a), b = std::move(b), f](Frame& frame) {
      return static_cast<int64_t>(f(a->run(frame), b->run(frame)));
    });
  }
  return make_int_code([dtype, a = std::move(a), b = std::move(b), f](Frame& frame) {
    return wrap_integer(dtype, static_cast<int64_t>(f(a->run(frame), b->run(frame))));
  });
}

// f(a) or f(a, b) on floats, rounded to dtype; f32, the common case, avoids a switch.
template <class F>
FloatPtr float_unary(DType dtype, FloatPtr a, F f) {
  if (dtype == DType::kF32) {
    return make_float_code([a = std::move(a), f](Frame& frame) -> double {
      return static_cast<float>(f(a->run(frame)));
    });
  }
  return make_float_code([dtype, a = std::move(a), f](Frame& frame) -> double {
    return round_float(dtype, f(a->run(frame)));
  });
}

template <class F>
FloatPtr float_binary(DType dtype, FloatPtr a, FloatPtr b, F f) {
  if (dtype == DType::kF32) {
    return make_float_code([a = std::move(a), b = std::move(b), f](Frame& frame) -> double {
      double x = a->run(frame);
      return static_cast<float>(f(x, b->run(frame)));
    });
  }
  return make_float_code([dtype, a = std::move(a), b = std::move(b), f](Frame& frame) -> double {
    double x = a->run(frame);
    return round_float(dtype, f(x, b->run(frame)));
  });
}

// Wrapping arithmetic without signed overflow.
inline int64_t wrapping_add(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapping_sub(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
}
inline int64_t wrapping_mul(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace tapml::interp
