// How often the terms of sums of products repeat.
#pragma once

#include <cstddef>
#include <vector>

namespace tapml::op::reference {

// A sample of the terms of a line of an operand, at the places of a ProductRepetition.
struct LineSample {
  static constexpr size_t kMost = 64;
  double values[kMost];
};

// Estimates the repetition (Repetition) of the terms a * b of the sums of a matrix product, from
// the same few places of all lines. Terms are equal where both factors are. Almost always the terms
// of one line differ, which its own sample shows.
class ProductRepetition {
 public:
  explicit ProductRepetition(size_t terms);

  // The sampled places among terms [first, first + count), and where in the sample they begin.
  struct Places {
    const size_t* begin;
    size_t count, at;
  };
  Places places(size_t first, size_t count) const;

  // The share of equal ones among two of a line's terms other than 0. Of columns, which are many, a
  // half of the sample has to suffice.
  double share_of_row(const LineSample& line) const { return share(line.values, places_.size()); }
  double share_of_column(const LineSample& line) const;
  // Mean number of terms that equal a term of the sum of both lines' products, with itself.
  double factor(const LineSample& row, double share_of_row, const LineSample& column,
                double share_of_column) const;

 private:
  static double share(const double* values, size_t count);

  size_t terms_;
  std::vector<size_t> places_;
};

}  // namespace tapml::op::reference
