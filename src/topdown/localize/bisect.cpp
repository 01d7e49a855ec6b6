#include "topdown/localize/bisect.h"

#include <algorithm>

namespace tapml::topdown {

namespace {

using Parts = std::vector<size_t>;

Parts joined(const Parts& a, const Parts& b) {
  Parts result = a;
  result.insert(result.end(), b.begin(), b.end());
  std::ranges::sort(result);
  return result;
}

class Search {
 public:
  explicit Search(const WrongWith& wrong) : wrong_(wrong) {}
  int64_t tests() const { return tests_; }

  bool wrong(const Parts& parts) {
    ++tests_;
    return wrong_(parts);
  }

  // A minimal subset of `candidates` that is wrong together with `background`; all of both are
  // wrong. `grown`: the background has more parts than when it was last known to be right.
  Parts least(const Parts& background, bool grown, const Parts& candidates) {
    if (grown && wrong(background)) return {};
    if (candidates.size() == 1) return candidates;
    const auto middle = candidates.begin() + static_cast<std::ptrdiff_t>(candidates.size() / 2);
    const Parts first(candidates.begin(), middle), second(middle, candidates.end());
    const Parts of_second = least(joined(background, first), true, second);
    const Parts of_first = least(joined(background, of_second), !of_second.empty(), first);
    return joined(of_first, of_second);
  }

  // `parts`, which are wrong, without those that are not needed for that. If more parts make a
  // wrong whole right, least() also returns parts that only undo that.
  Parts needed(Parts parts) {
    for (size_t i = 0; i < parts.size() && parts.size() > 1;) {
      Parts fewer = parts;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      if (wrong(fewer)) {
        parts = std::move(fewer);
      } else {
        ++i;
      }
    }
    return parts;
  }

 private:
  const WrongWith& wrong_;
  int64_t tests_ = 0;
};

}  // namespace

Bisection minimal_wrong_sets(size_t count, const WrongWith& wrong) {
  Bisection result;
  Search search(wrong);
  std::vector<Parts> doubtful;
  Parts left;
  for (size_t i = 0; i < count; ++i) left.push_back(i);
  while (!left.empty() && search.wrong(left)) {
    Parts found = search.least({}, false, left);
    // State left by an earlier test may have made this one wrong.
    const bool confirmed = search.wrong(found);
    if (confirmed) found = search.needed(std::move(found));
    std::erase_if(left, [&](size_t part) { return std::ranges::binary_search(found, part); });
    (confirmed ? result.sets : doubtful).push_back(std::move(found));
  }
  if (result.sets.empty()) result.sets = std::move(doubtful);
  result.tests = search.tests();
  return result;
}

}  // namespace tapml::topdown
