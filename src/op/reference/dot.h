// Sums of products, for matrix products and convolutions, with the terms of their error bounds.
#pragma once

#include "op/reference/helpers.h"

namespace tapml::op::reference {

// The error of a product a * b by those of its factors.
inline void add_product_error(double a, const Error& ea, double b, const Error& eb, Error& sum) {
  const double x = a * a, y = b * b;
  sum.systematic +=
      std::fabs(a) * eb.systematic + std::fabs(b) * ea.systematic + ea.systematic * eb.systematic;
  sum.variance += x * eb.variance + y * ea.variance + ea.variance * eb.variance;
}

// How a product of x and y rounds for `out`.
inline ProductRounding product_rounding(const RefTensor& x, const RefTensor& y,
                                        const RefTensor& out) {
  return {format_of(out.products.first, x.dtype), format_of(out.products.second, y.dtype),
          out.products.terms};
}

// A sum of products, accumulated term by term.
struct ProductSum {
  double value = 0;   // sum x*y
  uint64_t bits = 0;  // for integers: the sum modulo 2^64

  ProductSum() = default;
  explicit ProductSum(const ProductRounding& rounding)
      : exact_(rounding.is_exact()), formats_(rounding) {}

  void add(const RefTensor& x, size_t i, const RefTensor& y, size_t j) {
    add(x.values[i], error_of(x, i), y.values[j], error_of(y, j));
  }
  void add(double a, const Error& ea, double b, const Error& eb) {
    double term = a * b;
    if (!exact_) {
      term = rounded(formats_.terms, rounded(formats_.first, a) * rounded(formats_.second, b));
    }
    value += term;
    rounding_.add(term);
    add_product_error(a, ea, b, eb, moved_);
  }
  void add_integer(const RefTensor& x, size_t i, const RefTensor& y, size_t j) {
    bits += static_cast<uint64_t>(x.integer(i)) * static_cast<uint64_t>(y.integer(j));
  }
  // The effect of the factors' errors and of the roundings of the products and additions, in a type
  // of round-off `unit`.
  Error error(double unit) const {
    return Error::of(moved_.systematic, moved_.variance + rounding_.variance(unit));
  }

  // Variance of the roundings alone.
  double rounding(double unit) const { return rounding_.variance(unit); }

 private:
  bool exact_ = true;
  ProductRounding formats_;
  SumRounding rounding_;
  Error moved_;
};

// Round-off of the type in which a product of these accumulates.
inline double product_unit(const RefTensor& x, const RefTensor& y, const RefTensor& out) {
  return std::fmin(std::fmin(compute_unit(x.dtype), compute_unit(y.dtype)),
                   compute_unit(out.dtype));
}

// Element `at` of out as a sum of products: with_terms(f) calls f(i, j) for each pair of elements
// of x and y whose product belongs to it.
template <class Terms>
void put_product_sum(RefTensor& out, size_t at, const RefTensor& x, const RefTensor& y, double unit,
                     Terms&& with_terms) {
  ProductSum sum(product_rounding(x, y, out));
  if (is_float(out.dtype)) {
    with_terms([&](size_t i, size_t j) { sum.add(x, i, y, j); });
    put(out, at, sum.value, sum.error(unit));
  } else {
    with_terms([&](size_t i, size_t j) { sum.add_integer(x, i, y, j); });
    put_integer(out, at, static_cast<int64_t>(sum.bits));
  }
}

}  // namespace tapml::op::reference
