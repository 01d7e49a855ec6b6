// A sum of products in f64, accumulated in blocks along its terms, with what its errors need.
#pragma once

#include <cstddef>

#include "op/reference/dot.h"

namespace tapml::op::reference {

// Terms of a block, within which the partial sums are estimated.
inline constexpr size_t kTermsOfBlock = 256;
// Lanes of a block; blocks are filled up to a multiple with zeros.
inline constexpr size_t kLanesOfBlock = 8;

// The factors of a block of terms.
struct FactorBlock {
  const double* values;
  // Parts of their errors; both null if they are exact.
  const double* systematic = nullptr;
  const double* variance = nullptr;
};

// The state between two blocks. Every array has one number for each lane, to which the terms belong
// in turn, so that the order of all operations, and with it the result, does not depend on the
// width of registers. Its f64 roundings are no part of the errors: they are below
// K/8 * 2^-53 * sum |term|, and the bound of an f32 sum allows at least
// 8/sqrt(3) * 2^-24 * sqrt(sum of term^2), which is no less than 4 * 2^-24 * sum |term| / sqrt(K):
// 3,500 times as much for K = 28,672.
struct ProductSums {
  double value[kLanesOfBlock] = {};       // sum of the terms
  double squares[kLanesOfBlock] = {};     // sum of term^2
  double weighted[kLanesOfBlock] = {};    // the same, each block's times its count of terms / 6
  double by_lanes[kLanesOfBlock] = {};    // partial sums of the lanes: squares, but for `weighted`
  double systematic[kLanesOfBlock] = {};  // what the factors' errors move, at most
  double variance[kLanesOfBlock] = {};    // and its random part
  double sum = 0;                         // of all terms
  double sequential = 0;                  // as by_lanes, of a sequential sum
  double floor = 0;                       // variance of operands at their format's smallest numbers

  // The effect of the factors' errors, and of the roundings of operands, of the `terms` products
  // and of their sum in the worst honest order (SumRounding). `repetition`: how often the terms
  // repeat (ProductRepetition).
  Error error(const ProductPolicy& policy, size_t terms, double repetition = 1) const;
};

// How many numbers the widest registers of this processor have that add_block() may use: 2, 4 or 8.
size_t widest_registers();

// Adds the terms a * b of a block. `count` is at most kTermsOfBlock; only the last block of a sum
// may have fewer. Every width of registers gives the same bits.
void add_block(const FactorBlock& a, const FactorBlock& b, size_t count, ProductSums& sums,
               size_t width = widest_registers());

}  // namespace tapml::op::reference
