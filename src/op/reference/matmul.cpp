// Reference of the matrix product.
#include <algorithm>

#include "op/reference/helpers.h"

namespace tapml::op::reference {

namespace {

// One [m, k] x [k, n] product of a batch; rows of b are columns of the matrix when transposed.
struct Product {
  const double *a, *a_bound, *b, *b_bound;
  size_t m, k, n;
  bool transposed;
  bool exact;  // neither operand has an error

  size_t b_step() const { return transposed ? 1 : n; }
  size_t b_start(size_t column) const { return transposed ? column * k : column; }

  // value = sum a*b, magnitude = sum |a||b|, reach = sum (|a| + ea)(|b| + eb) of one element.
  void element(size_t row, size_t column, double& value, double& magnitude, double& reach) const {
    const double* x = a + row * k;
    const double* y = b + b_start(column);
    size_t step = b_step();
    for (size_t r = 0; r < k; ++r) {
      double term = x[r] * y[r * step];
      value += term;
      magnitude += std::fabs(term);
    }
    reach = magnitude;
    if (exact) return;
    const double* ex = a_bound + row * k;
    const double* ey = b_bound + b_start(column);
    reach = 0;
    for (size_t r = 0; r < k; ++r) {
      reach += (std::fabs(x[r]) + ex[r]) * (std::fabs(y[r * step]) + ey[r * step]);
    }
  }
};

}  // namespace

void matmul(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  RefTensor& out = outputs[0];
  size_t rank = out.shape.size();
  size_t m = static_cast<size_t>(out.shape[rank - 2]), n = static_cast<size_t>(out.shape[rank - 1]);
  size_t k = static_cast<size_t>(a.shape.back());
  // Sums are kept in the wider operand's compute type.
  double unit = std::min(compute_unit(a.dtype), compute_unit(b.dtype));
  bool exact = is_exact(a) && is_exact(b);
  bool transposed = attr_or(attrs, "transpose_b", false);

  Shape batch(out.shape.begin(), out.shape.end() - 2);
  Shape a_batch(a.shape.begin(), a.shape.end() - 2), b_batch(b.shape.begin(), b.shape.end() - 2);
  std::vector<size_t> b_offsets(static_cast<size_t>(element_count(batch)));
  walk(batch, broadcast_strides(b_batch, batch), 0,
       [&](size_t i, size_t j) { b_offsets[i] = j * k * n; });
  walk(batch, broadcast_strides(a_batch, batch), 0, [&](size_t i, size_t j) {
    const double* a_values = a.values.data() + j * m * k;
    const double* a_bound = a.bound.data() + j * m * k;
    Product product{
        a_values,   a_bound, b.values.data() + b_offsets[i], b.bound.data() + b_offsets[i], m, k, n,
        transposed, exact};
    for (size_t row = 0; row < m; ++row) {
      for (size_t column = 0; column < n; ++column) {
        double value = 0, magnitude = 0, reach = 0;
        product.element(row, column, value, magnitude, reach);
        double moved = exact ? 0 : std::max(0.0, reach - magnitude);
        put(out, (i * m + row) * n + column, value, moved + sum_error(unit, k, reach));
      }
    }
  });
}

}  // namespace tapml::op::reference
