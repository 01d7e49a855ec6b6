#include "topdown/reference_run/sampled_elements.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "base/rng.h"
#include "op/reference.h"

namespace tapml::topdown {

namespace {

constexpr int64_t kMostGroups = 4096, kColumnsOfGroup = 16, kEnds = 16;
// An input with more values is no choice between experts.
constexpr size_t kMostChoices = 1024;

// A random order of groups, in turn; after the last one, another order.
class ShuffledGroups {
 public:
  ShuffledGroups(int64_t extent, int64_t groups) : extent_(extent) {
    order_.resize(static_cast<size_t>(groups));
    std::iota(order_.begin(), order_.end(), 0);
  }
  // A line of the next group.
  int64_t draw(RandomStream& random) {
    if (next_ == 0) {
      for (size_t i = order_.size(); i-- > 1;) {
        std::swap(order_[i],
                  order_[static_cast<size_t>(random.between(0, static_cast<int64_t>(i)))]);
      }
    }
    const int64_t group = order_[next_], groups = std::ssize(order_);
    next_ = (next_ + 1) % order_.size();
    return random.between(group * extent_ / groups, (group + 1) * extent_ / groups - 1);
  }

 private:
  int64_t extent_;
  std::vector<int64_t> order_;
  size_t next_ = 0;
};

class Draws {
 public:
  Draws(int64_t size, int64_t width, const std::string& seed)
      : rows_(size / width),
        width_(width),
        random_(0, "sample " + seed),
        flags_(static_cast<size_t>(size), 0) {}

  void cover_lines() {
    const int64_t row_groups = std::min(rows_, kMostGroups);
    const int64_t column_groups =
        std::min((width_ + kColumnsOfGroup - 1) / kColumnsOfGroup, kMostGroups);
    ShuffledGroups rows(rows_, row_groups), columns(width_, column_groups);
    const int64_t draws = std::max({kDrawnElements, row_groups, column_groups});
    for (int64_t i = 0; i < draws; ++i) {
      const int64_t row = rows.draw(random_), column = columns.draw(random_);
      take(row, column);
    }
  }
  void cover_ends() {
    for (int64_t i = 0; i < kEnds; ++i) {
      for (const int64_t column : {int64_t{0}, width_ - 1}) take(random_row(), column);
      for (const int64_t row : {int64_t{0}, rows_ - 1}) take(row, random_column());
    }
  }
  void cover_choices(const HostTensor& choice) {
    if (choice.size() == 0 || rows_ % choice.size() != 0) return;
    std::map<int64_t, std::vector<int64_t>> places;
    for (int64_t i = 0; i < choice.size(); ++i) {
      places[static_cast<int64_t>(choice.at_f64(i))].push_back(i);
      if (places.size() > kMostChoices) return;
    }
    const int64_t adjacent = rows_ / choice.size();
    for (const auto& [value, of_value] : places) {
      for (int twice = 0; twice < 2; ++twice) {
        const int64_t place =
            of_value[static_cast<size_t>(random_.between(0, std::ssize(of_value) - 1))];
        take(place * adjacent + random_.between(0, adjacent - 1), random_column());
      }
    }
  }
  // Where elements were drawn twice, others are.
  void fill() {
    while (count_ < kDrawnElements) take(random_row(), random_column());
  }
  std::vector<uint8_t> flags() && { return std::move(flags_); }

 private:
  int64_t random_row() { return random_.between(0, rows_ - 1); }
  int64_t random_column() { return random_.between(0, width_ - 1); }
  void take(int64_t row, int64_t column) {
    uint8_t& flag = flags_[static_cast<size_t>(row * width_ + column)];
    if (flag == 0) ++count_;
    flag = op::kRandomlyWanted;
  }

  int64_t rows_, width_;
  RandomStream random_;
  std::vector<uint8_t> flags_;
  int64_t count_ = 0;
};

// Flags the elements that differ most among those without a flag.
void take_differing(const HostTensor& source, const HostTensor& target,
                    std::vector<uint8_t>& flags) {
  std::vector<int64_t> others;
  for (int64_t i = 0; i < source.size(); ++i) {
    if (!flags[static_cast<size_t>(i)]) others.push_back(i);
  }
  const auto difference = [&](int64_t i) {
    const double s = source.at_f64(i), t = target.at_f64(i);
    if (s == t || (std::isnan(s) && std::isnan(t))) return 0.0;  // also for infinities
    const double d = std::abs(s - t);
    return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
  };
  const auto most = others.begin() + std::min<int64_t>(kDifferingElements, std::ssize(others));
  std::nth_element(others.begin(), most, others.end(), [&](int64_t a, int64_t b) {
    const double x = difference(a), y = difference(b);
    return x != y ? x > y : a < b;
  });
  std::for_each(others.begin(), most, [&](int64_t i) { flags[static_cast<size_t>(i)] = 1; });
}

}  // namespace

std::vector<uint8_t> sampled_elements(const HostTensor& source, const HostTensor& target,
                                      const std::vector<HostTensor>& choices,
                                      const std::string& seed) {
  const int64_t width = source.shape().empty() ? 1 : source.shape().back();
  Draws draws(source.size(), width, seed);
  draws.cover_lines();
  draws.cover_ends();
  for (const HostTensor& choice : choices) draws.cover_choices(choice);
  draws.fill();
  std::vector<uint8_t> flags = std::move(draws).flags();
  take_differing(source, target, flags);
  return flags;
}

}  // namespace tapml::topdown
