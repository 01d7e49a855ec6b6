// Reference of the matrix product.
#include <algorithm>
#include <cstring>

#include "op/reference/dot.h"

namespace tapml::op::reference {

namespace {

// Number of adjacent columns to copy together if columns are not contiguous.
constexpr size_t kColumnsTogether = 16;

// Sums of one row of a with one column of b, both contiguous.
struct Sums {
  double value = 0;      // sum a*b
  double magnitude = 0;  // sum |a||b|
  double reach = 0;      // sum (|a| + ea)(|b| + eb)
};

// Two groups of four lanes, so that additions of partial sums do not wait for each other.
[[gnu::always_inline]] inline Sums dot_by_lanes(const double* a, const double* b, size_t k) {
  constexpr size_t kLanes = 4, kVectors = 2;
  using Lanes [[gnu::vector_size(kLanes * sizeof(double))]] = double;
  Lanes value[kVectors] = {}, magnitude[kVectors] = {};
  size_t r = 0;
  for (; r + kVectors * kLanes <= k; r += kVectors * kLanes) {
#pragma GCC unroll 2
    for (size_t vector = 0; vector < kVectors; ++vector) {
      Lanes x, y;
      std::memcpy(&x, a + r + vector * kLanes, sizeof x);
      std::memcpy(&y, b + r + vector * kLanes, sizeof y);
      const Lanes term = x * y;
      value[vector] += term;
      magnitude[vector] += term < 0 ? -term : term;
    }
  }
  Sums sums;
  const Lanes values = value[0] + value[1], magnitudes = magnitude[0] + magnitude[1];
  for (size_t lane = 0; lane < kLanes; ++lane) {
    sums.value += values[lane];
    sums.magnitude += magnitudes[lane];
  }
  for (; r < k; ++r) {
    sums.value += a[r] * b[r];
    sums.magnitude += std::fabs(a[r] * b[r]);
  }
  sums.reach = sums.magnitude;
  return sums;
}

#if defined(__x86_64__)
// The same operations in wider registers, with identical bits.
[[gnu::target("avx2")]] Sums dot_avx2(const double* a, const double* b, size_t k) {
  return dot_by_lanes(a, b, k);
}
#endif

Sums dot(const double* a, const double* b, size_t k) {
#if defined(__x86_64__)
  static const bool kHasAvx2 = __builtin_cpu_supports("avx2") != 0;
  if (kHasAvx2) return dot_avx2(a, b, k);
#endif
  return dot_by_lanes(a, b, k);
}

double reach_of(const double* a, const double* ea, const double* b, const double* eb, size_t k) {
  double reach = 0;
  for (size_t r = 0; r < k; ++r) {
    reach += (std::fabs(a[r]) + ea[r]) * (std::fabs(b[r]) + eb[r]);
  }
  return reach;
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

  // Copies `count` lines of the matrix that begins at element `base`.
  void take(size_t base, size_t first, size_t count) {
    copy(tensor_.values, base + first * between_, count, values_);
    if (!exact_) copy(tensor_.bound, base + first * between_, count, bound_);
  }
  // Values of a copied line.
  const double* values(size_t line) const { return values_.data() + line * k_; }
  const double* bound(size_t line) const { return bound_.data() + line * k_; }

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
  std::vector<double> values_, bound_;
};

}  // namespace

void matmul(const AttrMap& attrs, Args args, Outputs outputs) {
  const RefTensor &a = *args[0].tensor, &b = *args[1].tensor;
  RefTensor& out = outputs[0];
  Operand left(a, true, attr_or(attrs, "transpose_a", false));
  Operand right(b, false, attr_or(attrs, "transpose_b", false));
  size_t m = left.rows, n = right.columns, k = left.columns;
  double unit = product_unit(a, b, out);
  bool exact = is_exact(a) && is_exact(b);

  Shape batch(out.shape.begin(), out.shape.end() - (a.shape.size() > 1) - (b.shape.size() > 1));
  std::vector<size_t> b_offsets(static_cast<size_t>(element_count(batch)));
  walk(batch, broadcast_strides(right.batch, batch), 0,
       [&](size_t i, size_t j) { b_offsets[i] = j * right.size(); });
  Lines rows(a, k, left.row_stride(), left.column_stride(), exact);
  Lines columns(b, k, right.column_stride(), right.row_stride(), exact);
  walk(batch, broadcast_strides(left.batch, batch), 0, [&](size_t i, size_t j) {
    size_t a_base = j * left.size(), b_base = b_offsets[i];
    if (!is_float(out.dtype)) {
      for (size_t cell = 0; cell < m * n; ++cell) {
        put_product_sum(out, i * m * n + cell, a, b, unit, [&](auto&& add) {
          for (size_t r = 0; r < k; ++r) {
            add(left.at(a_base, cell / n, r), right.at(b_base, r, cell % n));
          }
        });
      }
      return;
    }
    rows.take(a_base, 0, m);
    for (size_t first = 0; first < n; first += kColumnsTogether) {
      const size_t end = std::min(n, first + kColumnsTogether);
      columns.take(b_base, first, end - first);
      for (size_t row = 0; row < m; ++row) {
        for (size_t column = first; column < end; ++column) {
          const size_t cell = (i * m + row) * n + column;
          if (!out.wants(cell)) continue;
          const double *x = rows.values(row), *y = columns.values(column - first);
          Sums sums = dot(x, y, k);
          if (!exact) {
            sums.reach = reach_of(x, rows.bound(row), y, columns.bound(column - first), k);
          }
          double moved = std::max(0.0, sums.reach - sums.magnitude);
          put(out, cell, sums.value, moved + sum_error(unit, k, sums.reach));
        }
      }
    }
  });
}

}  // namespace tapml::op::reference
