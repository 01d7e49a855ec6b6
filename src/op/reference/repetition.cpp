#include "op/reference/repetition.h"

#include <algorithm>

namespace tapml::op::reference {

void Repetition::take(double term) {
  sample_.push_back({count_ - 1, term});
  if (sample_.size() <= most_) return;
  mask_ = 2 * mask_ + 1;
  std::erase_if(sample_, [this](const Taken& taken) { return !in_sample(taken.place); });
}

double Repetition::factor() const {
  const auto size = static_cast<double>(sample_.size());
  if (size < 2) return 1;
  std::vector<double> terms;
  terms.reserve(sample_.size());
  for (const Taken& taken : sample_) terms.push_back(taken.term);
  std::ranges::sort(terms);
  double pairs = 0;  // of equal terms, both ways
  for (auto first = terms.begin(); first != terms.end();) {
    const auto last = std::upper_bound(first, terms.end(), *first);
    const auto equal = static_cast<double>(last - first);
    pairs += equal * (equal - 1);
    first = last;
  }
  // The share of equal ones among two terms, times the other terms.
  return 1 + pairs / (size * (size - 1)) * static_cast<double>(count_ - 1);
}

}  // namespace tapml::op::reference
