// How often the terms of a sum repeat.
#pragma once

#include <cstddef>
#include <vector>

namespace tapml::op::reference {

// Adding a term to a partial sum that is a multiple of its own last place rounds away the term's
// lower bits, whatever the partial sum is: equal terms have equal rounding errors until the sum
// reaches the next power of 2. Of n terms that occur r times each, the errors are those of n / r
// independent groups, each r times as large, so their variance is r times that of different terms.
class Repetition {
 public:
  // Estimated from a sample if there are more terms than `most`, a power of two.
  explicit Repetition(size_t most = 1024) : most_(most) {}

  void add(double term) {
    // Zeros are added without rounding.
    if (term != 0 && in_sample(count_++)) take(term);
  }
  // Mean number of terms that equal a term, with itself: 1 if all differ, n for n equal ones.
  double factor() const;

 private:
  struct Taken {
    size_t place;
    double term;
  };
  // The places look random, so that a period of the terms does not matter.
  bool in_sample(size_t place) const {
    return ((place * size_t{0x9e3779b97f4a7c15}) >> 40 & mask_) == 0;
  }
  void take(double term);

  size_t most_;
  std::vector<Taken> sample_;
  size_t count_ = 0;
  size_t mask_ = 0;  // one of mask_ + 1 places is in the sample
};

}  // namespace tapml::op::reference
