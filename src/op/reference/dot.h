// Sums of products, for matrix products and convolutions, with the terms of their error bounds.
#pragma once

#include "op/reference/helpers.h"

namespace tapml::op::reference {

// A sum of products, accumulated term by term.
struct ProductSum {
  double value = 0;      // sum x*y
  double magnitude = 0;  // sum |x||y|
  double reach = 0;      // sum (|x| + ex)(|y| + ey)
  uint64_t bits = 0;     // for integers: the sum modulo 2^64
  size_t count = 0;

  void add(const RefTensor& x, size_t i, const RefTensor& y, size_t j) {
    double a = x.values[i], b = y.values[j];
    value += a * b;
    magnitude += std::fabs(a * b);
    reach += (std::fabs(a) + x.bound[i]) * (std::fabs(b) + y.bound[j]);
    ++count;
  }
  void add_integer(const RefTensor& x, size_t i, const RefTensor& y, size_t j) {
    bits += static_cast<uint64_t>(x.integer(i)) * static_cast<uint64_t>(y.integer(j));
  }
  // Bound on the effect of the inputs' bounds and of the roundings of the additions, in a type of
  // round-off `unit`.
  double error(double unit) const {
    return (reach > magnitude ? reach - magnitude : 0) + sum_error(unit, count, reach);
  }
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
  ProductSum sum;
  if (is_float(out.dtype)) {
    with_terms([&](size_t i, size_t j) { sum.add(x, i, y, j); });
    put(out, at, sum.value, sum.error(unit));
  } else {
    with_terms([&](size_t i, size_t j) { sum.add_integer(x, i, y, j); });
    put_integer(out, at, static_cast<int64_t>(sum.bits));
  }
}

}  // namespace tapml::op::reference
