// Reference of the matrix product.
#include <algorithm>
#include <cstring>

#include "op/reference/dot.h"

namespace tapml::op::reference {

namespace {

// Number of adjacent columns to copy together if columns are not contiguous.
constexpr size_t kColumnsTogether = 16;

// The product of one row of a with one column of b, both contiguous.
struct Dot {
  double value = 0;     // sum a*b
  double rounding = 0;  // the variance of its roundings, in units of rounding_variance(unit, 1)
  double squares = 0;   // of the terms
};

// Terms of a block, within which the partial sums are estimated.
constexpr size_t kBlock = 256;

// Sum of S^2 over `count` partial sums S of a block of terms, which lead from `first` to `last`: a
// straight line, and around it a random walk that is fixed at both ends, whose variance is on
// average a sixth of `squares`, the sum of the terms' squares. SumRounding has the exact sum.
[[gnu::always_inline]] inline double squares_between(double first, double last, double squares,
                                                     double count) {
  return count * ((first * first + first * last + last * last) / 3 + squares / 6);
}

// Two groups of four lanes, so that additions of partial sums do not wait for each other.
[[gnu::always_inline]] inline Dot dot_by_lanes(const double* a, const double* b, size_t k) {
  constexpr size_t kLanes = 4, kVectors = 2, kTogether = kLanes * kVectors;
  using Lanes [[gnu::vector_size(kLanes * sizeof(double))]] = double;
  Lanes value[kVectors] = {};
  double sum = 0, terms = 0, sequential = 0, by_lanes = 0;
  for (size_t start = 0; start < k; start += kBlock) {
    const size_t end = std::min(k, start + kBlock);
    Lanes squares[kVectors] = {};
    const Lanes before[kVectors] = {value[0], value[1]};
    size_t r = start;
    for (; r + kTogether <= end; r += kTogether) {
#pragma GCC unroll 2
      for (size_t vector = 0; vector < kVectors; ++vector) {
        Lanes x, y;
        std::memcpy(&x, a + r + vector * kLanes, sizeof x);
        std::memcpy(&y, b + r + vector * kLanes, sizeof y);
        const Lanes term = x * y;
        value[vector] += term;
        squares[vector] += term * term;
      }
    }
    for (; r < end; ++r) {  // of the last block
      const double term = a[r] * b[r];
      value[0][r % kLanes] += term;
      squares[0][r % kLanes] += term * term;
    }
    const auto count = static_cast<double>(end - start);
    double block_squares = 0, next = 0;
    for (size_t vector = 0; vector < kVectors; ++vector) {
      for (size_t lane = 0; lane < kLanes; ++lane) {
        by_lanes += squares_between(before[vector][lane], value[vector][lane],
                                    squares[vector][lane], count / static_cast<double>(kTogether));
        block_squares += squares[vector][lane];
        next += value[vector][lane];
      }
    }
    sequential += squares_between(sum, next, block_squares, count);
    terms += block_squares;
    sum = next;
  }
  return {sum, std::max(sequential, by_lanes) + terms, terms};
}

#if defined(__x86_64__)
// The same operations in wider registers, with identical bits.
[[gnu::target("avx2")]] Dot dot_avx2(const double* a, const double* b, size_t k) {
  return dot_by_lanes(a, b, k);
}
#endif

// The sum alone, rounded to `format` after each term.
double rounded_sum(ProductFormat format, const double* a, const double* b, size_t k) {
  double sum = 0;
  for (size_t r = 0; r < k; ++r) sum = rounded(format, sum + a[r] * b[r]);
  return sum;
}

Dot dot(const double* a, const double* b, size_t k) {
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (kHasAvx2) return dot_avx2(a, b, k);
#endif
  return dot_by_lanes(a, b, k);
}

// Shape and storage of an operand: (rows, columns), read through its transpose flag.
struct Operand {
  const RefTensor& tensor;
  Shape batch;
  size_t rows = 1, columns = 1;
  bool transposed = false;

  Operand(const RefTensor& t, bool left, bool transpose) : tensor(t) {
    size_t rank = t.shape.size();
    if (rank == 1) {
      (left ? columns : rows) = static_cast<size_t>(t.shape[0]);
      return;
    }
    transposed = transpose;
    batch.assign(t.shape.begin(), t.shape.end() - 2);
    rows = static_cast<size_t>(t.shape[rank - (transposed ? 1 : 2)]);
    columns = static_cast<size_t>(t.shape[rank - (transposed ? 2 : 1)]);
  }

  size_t size() const { return rows * columns; }
  size_t row_stride() const { return transposed ? 1 : columns; }
  size_t column_stride() const { return transposed ? rows : 1; }
  size_t at(size_t base, size_t row, size_t column) const {
    return base + row * row_stride() + column * column_stride();
  }
};

// Lines of `k` elements along the reduced dimension of a matrix, each contiguous.
class Lines {
 public:
  Lines(const RefTensor& tensor, size_t k, size_t between, size_t along, bool exact)
      : tensor_(tensor), k_(k), between_(between), along_(along), exact_(exact) {}

  // Copies `count` lines of the matrix that begins at element `base`, rounded to `format`.
  void take(size_t base, size_t first, size_t count, ProductFormat format) {
    const size_t at = base + first * between_;
    copy(tensor_.values, at, count, values_);
    if (format != ProductFormat::kExact) {
      for (double& value : values_) value = rounded(format, value);
    }
    if (exact_) return;
    copy(tensor_.systematic.empty() ? tensor_.bound : tensor_.systematic, at, count, systematic_);
    if (tensor_.deviation.empty()) {
      deviation_.assign(count * k_, 0);
    } else {
      copy(tensor_.deviation, at, count, deviation_);
    }
  }
  // Values of a copied line.
  const double* values(size_t line) const { return values_.data() + line * k_; }
  const double* systematic(size_t line) const { return systematic_.data() + line * k_; }
  const double* deviation(size_t line) const { return deviation_.data() + line * k_; }

 private:
  template <class Elements>
  void copy(const Elements& from, size_t at, size_t count, std::vector<double>& to) const {
    to.resize(count * k_);
    if (to.empty()) return;
    if (along_ == 1) {
      for (size_t i = 0; i < count; ++i) from.read(at + i * between_, 1, k_, to.data() + i * k_, 1);
    } else {
      for (size_t r = 0; r < k_; ++r)
        from.read(at + r * along_, between_, count, to.data() + r, k_);
    }
  }

  const RefTensor& tensor_;
  size_t k_, between_, along_;
  bool exact_;
  std::vector<double> values_, systematic_, deviation_;
};

// Variance of the roundings of operands, products and additions.
double rounding_of(const Dot& product, const ProductPolicy& policy, const double* a,
                   const double* b, size_t k) {
  double variance =
      product.rounding * rounding_variance(policy.unit, 1) + policy.operands(product.squares);
  if (policy.unit == kHalfUnit) variance += static_cast<double>(2 * k) * kHalfFloor;
  if (policy.has_floor()) {
    for (size_t r = 0; r < k; ++r) variance += policy.floor(a[r], b[r]);
  }
  return variance;
}

// The error of a product by those of its factors.
Error moved_by(const Lines& a, size_t row, const Lines& b, size_t column, size_t k) {
  const double *x = a.values(row), *sx = a.systematic(row), *dx = a.deviation(row);
  const double *y = b.values(column), *sy = b.systematic(column), *dy = b.deviation(column);
  Error sum;
  for (size_t r = 0; r < k; ++r) {
    add_product_error(x[r], {0, sx[r], dx[r] * dx[r]}, y[r], {0, sy[r], dy[r] * dy[r]}, sum);
  }
  return sum;
}

}  // namespace

void matmul(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  RefTensor& out = outputs[0];
  Operand left(a, true, attr_or(attrs, "transpose_a", false));
  Operand right(b, false, attr_or(attrs, "transpose_b", false));
  size_t m = left.rows, n = right.columns, k = left.columns;
  const ProductPolicy policy(a, b, out, has_half_sums(attrs));
  const bool exact = is_exact(a) && is_exact(b);
  const ProductRounding& formats = policy.rounding;

  Shape batch(out.shape.begin(), out.shape.end() - (a.shape.size() > 1) - (b.shape.size() > 1));
  std::vector<size_t> b_offsets(static_cast<size_t>(element_count(batch)));
  walk(batch, broadcast_strides(right.batch, batch), 0,
       [&](size_t i, size_t j) { b_offsets[i] = j * right.size(); });
  Lines rows(a, k, left.row_stride(), left.column_stride(), exact);
  Lines columns(b, k, right.column_stride(), right.row_stride(), exact);
  walk(batch, broadcast_strides(left.batch, batch), 0, [&](size_t i, size_t j) {
    size_t a_base = j * left.size(), b_base = b_offsets[i];
    if (!is_float(out.dtype) || formats.terms != ProductFormat::kExact) {
      for (size_t cell = 0; cell < m * n; ++cell) {
        if (!out.wants(i * m * n + cell)) continue;
        put_product_sum(out, i * m * n + cell, a, b, policy, [&](auto&& add) {
          for (size_t r = 0; r < k; ++r) {
            add(left.at(a_base, cell / n, r), right.at(b_base, r, cell % n));
          }
        });
      }
      return;
    }
    rows.take(a_base, 0, m, formats.first);
    for (size_t first = 0; first < n; first += kColumnsTogether) {
      const size_t end = std::min(n, first + kColumnsTogether);
      const auto wanted_in = [&](size_t row) {
        for (size_t column = first; column < end; ++column) {
          if (out.wants((i * m + row) * n + column)) return true;
        }
        return false;
      };
      bool wanted = out.wanted.empty();
      for (size_t row = 0; row < m && !wanted; ++row) wanted = wanted_in(row);
      if (!wanted) continue;
      columns.take(b_base, first, end - first, formats.second);
      for (size_t row = 0; row < m; ++row) {
        for (size_t column = first; column < end; ++column) {
          const size_t cell = (i * m + row) * n + column;
          if (!out.wants(cell)) continue;
          const double *x = rows.values(row), *y = columns.values(column - first);
          Dot product = dot(x, y, k);
          if (formats.sums != ProductFormat::kExact) {
            product.value = rounded_sum(formats.sums, x, y, k);
          }
          Error moved;
          if (!exact) moved = moved_by(rows, row, columns, column - first, k);
          put(out, cell, product.value,
              Error::of(moved.systematic + policy.systematic(product.value),
                        moved.variance + rounding_of(product, policy, x, y, k)));
        }
      }
    }
  });
}

}  // namespace tapml::op::reference
