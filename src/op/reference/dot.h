// Sums of products, for matrix products and convolutions, with the terms of their error bounds.
#pragma once

#include "op/reference/helpers.h"
#include "op/reference/repetition.h"

namespace tapml::op::reference {

// The error of a product a * b by those of its factors.
inline void add_product_error(double a, const Error& ea, double b, const Error& eb, Error& sum) {
  const double x = a * a, y = b * b;
  sum.systematic +=
      std::fabs(a) * eb.systematic + std::fabs(b) * ea.systematic + ea.systematic * eb.systematic;
  sum.variance += x * eb.variance + y * ea.variance + ea.variance * eb.variance;
}

// Whether an operator accumulates in f16 by its attribute.
inline bool has_half_sums(const AttrMap& attrs) {
  return attr_or(attrs, "accumulation", DType::kF32) == DType::kF16;
}

// What rounding an operand to the format of an allowance may add.
struct OperandRounding {
  // Of the square of the operand. An operand is in many sums, whose errors share its rounding, so
  // that this is the largest square of a rounding and not its mean.
  double relative = 0;
  double shared = 0;  // of its size: the mean of truncation, which all operands share
  double floor = 0;   // the largest square of rounding to the smallest numbers

  OperandRounding() = default;
  OperandRounding(OperandPrecision precision, DType dtype) {
    if (precision == OperandPrecision::kF32 || !is_float(dtype)) return;
    const double unit = precision == OperandPrecision::kBF16 ? 0x1p-8 : kHalfUnit;
    // f16 has a smaller range than the other formats.
    if (precision == OperandPrecision::kF16 && dtype != DType::kF16) floor = 3 * kHalfFloor;
    if (unit_roundoff(dtype) >= unit) return;
    relative = unit * unit;
    // Matrix units ignore the digits of f32 that TF32 lacks.
    if (precision == OperandPrecision::kTF32) shared = unit;
  }
};

// How an implementation computes a sum of products of x and y for `out`.
struct ProductPolicy {
  ProductRounding rounding;  // that is tried
  OperandRounding first, second;
  double unit;  // of the sums

  ProductPolicy(const RefTensor& x, const RefTensor& y, const RefTensor& out, bool half_sums);

  // Variance of the operands' roundings beside their floors, for a sum of squares of terms.
  double operands(double squares) const { return (first.relative + second.relative) * squares; }
  double systematic(double value) const {
    return (first.shared + second.shared) * std::fabs(value);
  }
  bool has_floor() const { return first.floor + second.floor > 0; }
  double floor(double a, double b) const { return first.floor * b * b + second.floor * a * a; }
};

// A sum of products, accumulated term by term.
struct ProductSum {
  double value = 0;   // sum x*y
  uint64_t bits = 0;  // for integers: the sum modulo 2^64

  explicit ProductSum(const ProductPolicy& policy)
      : policy_(policy), exact_(policy.rounding.is_exact()), has_floor_(policy.has_floor()) {}

  void add(const RefTensor& x, size_t i, const RefTensor& y, size_t j) {
    add(x.values[i], error_of(x, i), y.values[j], error_of(y, j));
  }
  void add(double a, const Error& ea, double b, const Error& eb) {
    double term = a * b;
    if (!exact_) {
      const ProductRounding& formats = policy_.rounding;
      term = rounded(formats.terms, rounded(formats.first, a) * rounded(formats.second, b));
      value = rounded(formats.sums, value + term);
    } else {
      value += term;
    }
    rounding_.add(term);
    if (has_floor_) floor_ += policy_.floor(a, b);
    add_product_error(a, ea, b, eb, moved_);
  }
  void add_integer(const RefTensor& x, size_t i, const RefTensor& y, size_t j) {
    bits += static_cast<uint64_t>(x.integer(i)) * static_cast<uint64_t>(y.integer(j));
  }
  // The effect of the factors' errors and of the roundings of operands, products and additions.
  // `repetition`: how often the same factors occur (Repetition).
  Error error(double repetition = 1) const {
    return Error::of(moved_.systematic + policy_.systematic(value),
                     moved_.variance * repetition + rounding(repetition));
  }

  // Variance of the roundings alone.
  double rounding(double repetition = 1) const {
    return rounding_.variance(policy_.unit, repetition) +
           policy_.operands(rounding_.squares()) * repetition + floor_;
  }

 private:
  const ProductPolicy& policy_;
  bool exact_, has_floor_;
  SumRounding rounding_;
  Error moved_;
  double floor_ = 0;
};

// Round-off of the type in which a product of these accumulates.
inline double product_unit(const RefTensor& x, const RefTensor& y, const RefTensor& out) {
  return std::fmin(std::fmin(compute_unit(x.dtype), compute_unit(y.dtype)),
                   compute_unit(out.dtype));
}

// Allowances are those of products in f32.
inline ProductPolicy::ProductPolicy(const RefTensor& x, const RefTensor& y, const RefTensor& out,
                                    bool half_sums)
    : rounding{format_of(out.products.first, x.dtype), format_of(out.products.second, y.dtype),
               out.products.terms, out.products.sums},
      unit(product_unit(x, y, out)) {
  if (out.products.as_specified && half_sums) rounding.sums = ProductFormat::kF16;
  if (unit != unit_roundoff(DType::kF32)) return;
  first = OperandRounding(out.allowed.precision, x.dtype);
  second = OperandRounding(out.allowed.precision, y.dtype);
  if (half_sums || out.allowed.half_sums) unit = kHalfUnit;
}

// Element `at` of out as a sum of products: with_terms(f) calls f(i, j) for each pair of elements
// of x and y whose product belongs to it.
template <class Terms>
void put_product_sum(RefTensor& out, size_t at, const RefTensor& x, const RefTensor& y,
                     const ProductPolicy& policy, Terms&& with_terms) {
  ProductSum sum(policy);
  if (is_float(out.dtype)) {
    Repetition repeated(64);
    with_terms([&](size_t i, size_t j) {
      sum.add(x, i, y, j);
      repeated.add(x.values[i] * y.values[j]);
    });
    put(out, at, sum.value, sum.error(repeated.factor()));
  } else {
    with_terms([&](size_t i, size_t j) { sum.add_integer(x, i, y, j); });
    put_integer(out, at, static_cast<int64_t>(sum.bits));
  }
}

}  // namespace tapml::op::reference
