#include "op/reference/product_sums.h"

#include <algorithm>
#include <cstring>

namespace tapml::op::reference {

namespace {

template <size_t kWidth>
struct VectorOf {
  using Type [[gnu::vector_size(kWidth * sizeof(double))]] = double;
};

// The numbers of all lanes, in registers of kWidth.
template <size_t kWidth>
struct Lanes {
  static constexpr size_t kVectors = kLanesOfBlock / kWidth;
  typename VectorOf<kWidth>::Type vectors[kVectors];

  [[gnu::always_inline]] static Lanes load(const double* from) {
    Lanes lanes;
    std::memcpy(lanes.vectors, from, sizeof lanes.vectors);
    return lanes;
  }
  [[gnu::always_inline]] void store(double* to) const { std::memcpy(to, vectors, sizeof vectors); }
};

// Sets `result` to |x|. By reference, because passing a vector by value depends on the target.
template <class Vector>
[[gnu::always_inline]] inline void set_magnitude(const Vector& x, Vector& result) {
  result = x < 0 ? -x : x;
}

template <size_t kWidth, bool kMovedA, bool kMovedB>
[[gnu::always_inline]] inline void add_terms(const FactorBlock& a, const FactorBlock& b,
                                             size_t count, ProductSums& sums) {
  using All = Lanes<kWidth>;
  using Vector = typename VectorOf<kWidth>::Type;
  const All before = All::load(sums.value);
  All value = before, squares = {}, systematic = {}, variance = {};
  if constexpr (kMovedA || kMovedB) {
    systematic = All::load(sums.systematic);
    variance = All::load(sums.variance);
  }
  for (size_t r = 0; r < count; r += kLanesOfBlock) {
#pragma GCC unroll 8
    for (size_t v = 0; v < All::kVectors; ++v) {
      const size_t at = r + v * kWidth;
      Vector x, y;
      std::memcpy(&x, a.values + at, sizeof x);
      std::memcpy(&y, b.values + at, sizeof y);
      const Vector term = x * y;
      value.vectors[v] += term;
      squares.vectors[v] += term * term;
      // add_product_error()
      Vector s, d, size;
      if constexpr (kMovedA) {
        set_magnitude(y, size);
        std::memcpy(&s, a.systematic + at, sizeof s);
        std::memcpy(&d, a.variance + at, sizeof d);
        systematic.vectors[v] += size * s;
        variance.vectors[v] += y * y * d;
      }
      if constexpr (kMovedB) {
        Vector t, e;
        set_magnitude(x, size);
        std::memcpy(&t, b.systematic + at, sizeof t);
        std::memcpy(&e, b.variance + at, sizeof e);
        if constexpr (kMovedA) {
          systematic.vectors[v] += (size + s) * t;
          variance.vectors[v] += (x * x + d) * e;
        } else {
          systematic.vectors[v] += size * t;
          variance.vectors[v] += x * x * e;
        }
      }
    }
  }
  // The sum of S^2 over the partial sums S of a block, which lead from `first` to `last`: a
  // straight line, and around it a random walk that is fixed at both ends, whose variance is on
  // average a sixth of the sum of the terms' squares. SumRounding has the exact sum.
  const auto terms = static_cast<double>(count);
  const double third = terms / 3, third_of_lane = third / kLanesOfBlock, sixth = terms / 6;
  All total = All::load(sums.squares), weighted = All::load(sums.weighted),
      by_lanes = All::load(sums.by_lanes);
#pragma GCC unroll 8
  for (size_t v = 0; v < All::kVectors; ++v) {
    const Vector first = before.vectors[v], last = value.vectors[v];
    by_lanes.vectors[v] += (first * first + first * last + last * last) * third_of_lane;
    total.vectors[v] += squares.vectors[v];
    weighted.vectors[v] += squares.vectors[v] * sixth;
  }
  value.store(sums.value);
  total.store(sums.squares);
  weighted.store(sums.weighted);
  by_lanes.store(sums.by_lanes);
  if constexpr (kMovedA || kMovedB) {
    systematic.store(sums.systematic);
    variance.store(sums.variance);
  }
  const double* lane = sums.value;
  const double next =
      ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
  sums.sequential += (sums.sum * sums.sum + sums.sum * next + next * next) * third;
  sums.sum = next;
}

using AddTerms = void (*)(const FactorBlock&, const FactorBlock&, size_t, ProductSums&);

// The same operations in wider registers, with identical bits.
#if defined(__x86_64__)
template <bool kMovedA, bool kMovedB>
[[gnu::target("avx512f")]] void add_terms_avx512(const FactorBlock& a, const FactorBlock& b,
                                                 size_t count, ProductSums& sums) {
  add_terms<8, kMovedA, kMovedB>(a, b, count, sums);
}
template <bool kMovedA, bool kMovedB>
[[gnu::target("avx2")]] void add_terms_avx2(const FactorBlock& a, const FactorBlock& b,
                                            size_t count, ProductSums& sums) {
  add_terms<4, kMovedA, kMovedB>(a, b, count, sums);
}
#endif
template <bool kMovedA, bool kMovedB>
void add_terms_anywhere(const FactorBlock& a, const FactorBlock& b, size_t count,
                        ProductSums& sums) {
  add_terms<2, kMovedA, kMovedB>(a, b, count, sums);
}

template <bool kMovedA, bool kMovedB>
AddTerms add_terms_in(size_t width) {
#if defined(__x86_64__)
  if (width == 8) return add_terms_avx512<kMovedA, kMovedB>;
  if (width == 4) return add_terms_avx2<kMovedA, kMovedB>;
#endif
  return add_terms_anywhere<kMovedA, kMovedB>;
}

double total(const double* lanes) {
  double sum = 0;
  for (size_t lane = 0; lane < kLanesOfBlock; ++lane) sum += lanes[lane];
  return sum;
}

}  // namespace

size_t widest_registers() {
#if defined(__x86_64__)
  static const size_t kWidest = __builtin_cpu_supports("avx512f") ? 8
                                : __builtin_cpu_supports("avx2")  ? 4
                                                                  : 2;
  return kWidest;
#else
  return 2;
#endif
}

void add_block(const FactorBlock& a, const FactorBlock& b, size_t count, ProductSums& sums,
               size_t width) {
  const bool moved_a = a.systematic != nullptr, moved_b = b.systematic != nullptr;
  const AddTerms add =
      moved_a ? (moved_b ? add_terms_in<true, true>(width) : add_terms_in<true, false>(width))
              : (moved_b ? add_terms_in<false, true>(width) : add_terms_in<false, false>(width));
  add(a, b, count, sums);
}

Error ProductSums::error(const ProductPolicy& policy, size_t terms, double repetition) const {
  const double of_terms = total(squares), inner = total(weighted);
  // Some order of the terms has a partial sum beyond the largest number.
  const double most = std::sqrt(of_terms * static_cast<double>(terms));
  if (std::isfinite(most) && overflows(most, policy.unit)) {
    return Error::open();
  }
  const double lanes = total(by_lanes) + inner / static_cast<double>(kLanesOfBlock);
  double rounding =
      (rounding_variance(policy.unit, 1) * (std::max(sequential + inner, lanes) + of_terms) +
       policy.operands(of_terms)) *
          repetition +
      floor;
  if (policy.unit == kHalfUnit) rounding += static_cast<double>(2 * terms) * kHalfFloor;
  return Error::of(total(systematic) + policy.systematic(sum),
                   total(variance) * repetition + rounding);
}

}  // namespace tapml::op::reference
