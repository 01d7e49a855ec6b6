#include "op/reference/product_repetition.h"

#include <algorithm>

namespace tapml::op::reference {

namespace {

// Where no line has fewer different values, repeated terms are those of independent lines.
constexpr double kFewValues = 1.0 / 32;

// Copies the values that are not 0, which are added without rounding.
size_t keep_others(const double* values, size_t count, double* kept) {
  size_t others = 0;
  for (size_t i = 0; i < count; ++i) {
    kept[others] = values[i];
    others += values[i] != 0 ? 1 : 0;
  }
  return others;
}

double share_of_pairs(const double* values, size_t count) {
  if (count < 2) return 0;
  size_t equal = 0;
  for (size_t i = 1; i < count; ++i) {
    size_t same = 0;
    for (size_t j = 0; j < i; ++j) same += values[i] == values[j] ? 1 : 0;
    equal += same;
  }
  return static_cast<double>(equal) / (static_cast<double>(count * (count - 1)) / 2);
}

}  // namespace

// One place of each part of the terms, which looks random, so that a period does not matter.
ProductRepetition::ProductRepetition(size_t terms) : terms_(terms) {
  const size_t count = std::min(terms, LineSample::kMost);
  for (size_t i = 0; i < count; ++i) {
    const size_t begin = i * terms / count, end = (i + 1) * terms / count;
    const size_t scrambled = (i + 1) * size_t{0x9e3779b97f4a7c15} >> 32;
    places_.push_back(begin + scrambled % (end - begin));
  }
}

ProductRepetition::Places ProductRepetition::places(size_t first, size_t count) const {
  const auto begin = std::ranges::lower_bound(places_, first);
  const auto end = std::lower_bound(begin, places_.end(), first + count);
  const auto at = static_cast<size_t>(begin - places_.begin());
  return {places_.data() + at, static_cast<size_t>(end - begin), at};
}

double ProductRepetition::share(const double* values, size_t count) {
  double kept[LineSample::kMost + 1];
  return share_of_pairs(kept, keep_others(values, count, kept));
}

double ProductRepetition::share_of_column(const LineSample& line) const {
  // Every second place, so that the half covers all terms.
  double half[LineSample::kMost];
  size_t count = 0;
  for (size_t i = 0; i < places_.size(); i += places_.size() > 8 ? 2 : 1) {
    half[count++] = line.values[i];
  }
  return share(half, count);
}

double ProductRepetition::factor(const LineSample& row, double share_of_row,
                                 const LineSample& column, double share_of_column) const {
  if (share_of_row == 0 || share_of_column == 0) return 1;
  const auto terms = static_cast<double>(terms_);
  if (std::max(share_of_row, share_of_column) < kFewValues) {
    return 1 + share_of_row * share_of_column * (terms - 1);
  }
  double products[LineSample::kMost], kept[LineSample::kMost + 1];
  const size_t count = places_.size();
  for (size_t i = 0; i < count; ++i) products[i] = row.values[i] * column.values[i];
  const size_t others = keep_others(products, count, kept);
  const double all = terms * static_cast<double>(others) / static_cast<double>(count);
  return 1 + share_of_pairs(kept, others) * std::max(0.0, all - 1);
}

}  // namespace tapml::op::reference
