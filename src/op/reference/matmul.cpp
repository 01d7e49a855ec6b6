// Reference of the matrix product.
#include <algorithm>

#include "op/reference/helpers.h"

namespace tapml::op::reference {

namespace {

// Sums of one row of a with one column of b, both contiguous.
struct Sums {
  double value = 0;      // sum a*b
  double magnitude = 0;  // sum |a||b|
  double reach = 0;      // sum (|a| + ea)(|b| + eb)
};

Sums dot(const double* a, const double* b, size_t k) {
  // Four partial sums: their additions do not wait for each other.
  double value[4] = {}, magnitude[4] = {};
  size_t r = 0;
  for (; r + 4 <= k; r += 4) {
    for (size_t lane = 0; lane < 4; ++lane) {
      double term = a[r + lane] * b[r + lane];
      value[lane] += term;
      magnitude[lane] += std::fabs(term);
    }
  }
  for (; r < k; ++r) {
    value[0] += a[r] * b[r];
    magnitude[0] += std::fabs(a[r] * b[r]);
  }
  Sums sums;
  sums.value = (value[0] + value[1]) + (value[2] + value[3]);
  sums.magnitude = (magnitude[0] + magnitude[1]) + (magnitude[2] + magnitude[3]);
  sums.reach = sums.magnitude;
  return sums;
}

double reach_of(const double* a, const double* ea, const double* b, const double* eb, size_t k) {
  double reach = 0;
  for (size_t r = 0; r < k; ++r) {
    reach += (std::fabs(a[r]) + ea[r]) * (std::fabs(b[r]) + eb[r]);
  }
  return reach;
}

// A [k, n] matrix with its columns contiguous.
std::vector<double> transposed_copy(const double* matrix, size_t k, size_t n) {
  std::vector<double> copy(k * n);
  for (size_t r = 0; r < k; ++r) {
    for (size_t c = 0; c < n; ++c) copy[c * k + r] = matrix[r * n + c];
  }
  return copy;
}

}  // namespace

void matmul(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  RefTensor& out = outputs[0];
  size_t rank = out.shape.size();
  auto m = static_cast<size_t>(out.shape[rank - 2]), n = static_cast<size_t>(out.shape[rank - 1]);
  auto k = static_cast<size_t>(a.shape.back());
  // Sums are kept in the wider operand's compute type.
  double unit = std::min(compute_unit(a.dtype), compute_unit(b.dtype));
  bool exact = is_exact(a) && is_exact(b);
  bool transposed = attr_or(attrs, "transpose_b", false);

  Shape batch(out.shape.begin(), out.shape.end() - 2);
  Shape a_batch(a.shape.begin(), a.shape.end() - 2), b_batch(b.shape.begin(), b.shape.end() - 2);
  std::vector<size_t> b_offsets(static_cast<size_t>(element_count(batch)));
  walk(batch, broadcast_strides(b_batch, batch), 0,
       [&](size_t i, size_t j) { b_offsets[i] = j * k * n; });
  std::vector<double> values_copy, bound_copy;
  size_t copied = SIZE_MAX;
  walk(batch, broadcast_strides(a_batch, batch), 0, [&](size_t i, size_t j) {
    const double* a_values = a.values.data() + j * m * k;
    const double* a_bound = a.bound.data() + j * m * k;
    const double* b_values = b.values.data() + b_offsets[i];
    const double* b_bound = b.bound.data() + b_offsets[i];
    if (!transposed) {
      if (copied != b_offsets[i]) {
        values_copy = transposed_copy(b_values, k, n);
        if (!exact) bound_copy = transposed_copy(b_bound, k, n);
        copied = b_offsets[i];
      }
      b_values = values_copy.data();
      b_bound = bound_copy.data();
    }
    for (size_t row = 0; row < m; ++row) {
      for (size_t column = 0; column < n; ++column) {
        if (!out.wants((i * m + row) * n + column)) continue;
        const double *x = a_values + row * k, *y = b_values + column * k;
        Sums sums = dot(x, y, k);
        if (!exact) sums.reach = reach_of(x, a_bound + row * k, y, b_bound + column * k, k);
        double moved = std::max(0.0, sums.reach - sums.magnitude);
        put(out, (i * m + row) * n + column, sums.value, moved + sum_error(unit, k, sums.reach));
      }
    }
  });
}

}  // namespace tapml::op::reference
