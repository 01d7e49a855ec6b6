#include "base/line_diff.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>

namespace tapml {

namespace {

// Maximum edits per region: the search takes their square.
constexpr int64_t kMostEdits = 3000;

using Line = int32_t;  // equal lines have equal numbers

struct Region {
  int64_t old_begin, old_end, new_begin, new_end;
  bool anchored = true;  // whether to look for lines that occur once
};

// Fills, for each line of `a`, the line of `b` that it matches.
class Matcher {
 public:
  Matcher(const std::vector<Line>& a, const std::vector<Line>& b, Line lines)
      : a_(a), b_(b), match_(a.size(), -1), seen_(static_cast<size_t>(lines)) {}

  std::vector<int64_t> run() {
    regions_.push_back({0, std::ssize(a_), 0, std::ssize(b_)});
    while (!regions_.empty()) {
      Region region = regions_.back();
      regions_.pop_back();
      trim(region);
      if (region.old_begin == region.old_end || region.new_begin == region.new_end) continue;
      if (region.anchored && anchor(region)) continue;
      bisect(region);
    }
    return std::move(match_);
  }

 private:
  // Occurrences of a line in the current region.
  struct Seen {
    int32_t in_a = 0, in_b = 0;
    int64_t at_b = 0;
  };

  Line a(int64_t i) const { return a_[static_cast<size_t>(i)]; }
  Line b(int64_t i) const { return b_[static_cast<size_t>(i)]; }
  Seen& seen(Line line) { return seen_[static_cast<size_t>(line)]; }
  void matched(int64_t i, int64_t j) { match_[static_cast<size_t>(i)] = j; }

  void trim(Region& r) {
    while (r.old_begin < r.old_end && r.new_begin < r.new_end && a(r.old_begin) == b(r.new_begin)) {
      matched(r.old_begin++, r.new_begin++);
    }
    while (r.old_begin < r.old_end && r.new_begin < r.new_end &&
           a(r.old_end - 1) == b(r.new_end - 1)) {
      matched(--r.old_end, --r.new_end);
    }
  }

  // Splits the region at the lines that occur once in both of its sides; false if there are none.
  bool anchor(const Region& r) {
    for (int64_t i = r.old_begin; i < r.old_end; ++i) ++seen(a(i)).in_a;
    for (int64_t j = r.new_begin; j < r.new_end; ++j) {
      Seen& one = seen(b(j));
      ++one.in_b;
      one.at_b = j;
    }
    std::vector<std::pair<int64_t, int64_t>> once;
    for (int64_t i = r.old_begin; i < r.old_end; ++i) {
      const Seen& one = seen(a(i));
      if (one.in_a == 1 && one.in_b == 1) once.emplace_back(i, one.at_b);
    }
    for (int64_t i = r.old_begin; i < r.old_end; ++i) seen(a(i)) = {};
    for (int64_t j = r.new_begin; j < r.new_end; ++j) seen(b(j)) = {};
    if (once.empty()) return false;
    Region next{r.old_begin, 0, r.new_begin, 0};
    for (const auto& [i, j] : longest_increasing(once)) {
      matched(i, j);
      next.old_end = i;
      next.new_end = j;
      regions_.push_back(next);
      next.old_begin = i + 1;
      next.new_begin = j + 1;
    }
    next.old_end = r.old_end;
    next.new_end = r.new_end;
    regions_.push_back(next);
    return true;
  }

  // The longest subset of pairs, with increasing first numbers, whose second numbers increase, too.
  static std::vector<std::pair<int64_t, int64_t>> longest_increasing(
      const std::vector<std::pair<int64_t, int64_t>>& pairs) {
    std::vector<size_t> tails;  // by length, the pair that ends lowest
    std::vector<int64_t> before(pairs.size(), -1);
    for (size_t p = 0; p < pairs.size(); ++p) {
      const auto place = std::ranges::lower_bound(tails, pairs[p].second, std::less<>(),
                                                  [&](size_t tail) { return pairs[tail].second; });
      if (place != tails.begin()) before[p] = static_cast<int64_t>(*(place - 1));
      if (place == tails.end()) {
        tails.push_back(p);
      } else {
        *place = p;
      }
    }
    std::vector<std::pair<int64_t, int64_t>> result;
    for (auto p = static_cast<int64_t>(tails.back()); p >= 0; p = before[static_cast<size_t>(p)]) {
      result.push_back(pairs[static_cast<size_t>(p)]);
    }
    std::ranges::reverse(result);
    return result;
  }

  // Splits the region at the middle of a shortest edit path from its begin to its end.
  void bisect(const Region& r) {
    const auto middle = middle_of(r);
    if (!middle) return;
    const auto [i, j] = *middle;
    regions_.push_back({r.old_begin, i, r.new_begin, j, false});
    regions_.push_back({i, r.old_end, j, r.new_end, false});
  }

  // None: the path is too long, and no line of the region is matched.
  std::optional<std::pair<int64_t, int64_t>> middle_of(const Region& r) {
    const int64_t n = r.old_end - r.old_begin, m = r.new_end - r.new_begin;
    const int64_t most = std::min((n + m + 1) / 2, kMostEdits);
    const int64_t delta = n - m, size = 2 * most + 2;
    // The farthest line of the first side that d edits reach on each diagonal, from either end.
    front_.assign(static_cast<size_t>(size), -1);
    back_.assign(static_cast<size_t>(size), -1);
    auto at = [](std::vector<int64_t>& reach, int64_t index) -> int64_t& {
      return reach[static_cast<size_t>(index)];
    };
    at(front_, most + 1) = 0;
    at(back_, most + 1) = 0;
    const bool meets_in_front = delta % 2 != 0;
    // Diagonals that have left the region are not followed further.
    int64_t front_low = 0, front_high = 0, back_low = 0, back_high = 0;
    auto farther = [&](std::vector<int64_t>& reach, int64_t d, int64_t k) {
      const bool down = k == -d || (k != d && at(reach, most + k - 1) < at(reach, most + k + 1));
      return down ? at(reach, most + k + 1) : at(reach, most + k - 1) + 1;
    };
    for (int64_t d = 0; d < most; ++d) {
      for (int64_t k = -d + front_low; k <= d - front_high; k += 2) {
        int64_t x = farther(front_, d, k), y = x - k;
        while (x < n && y < m && a(r.old_begin + x) == b(r.new_begin + y)) ++x, ++y;
        at(front_, most + k) = x;
        if (x > n) {
          front_high += 2;
        } else if (y > m) {
          front_low += 2;
        } else if (const int64_t other = most + delta - k; meets_in_front && other >= 0 &&
                                                           other < size && at(back_, other) != -1 &&
                                                           x >= n - at(back_, other)) {
          return inside(r, x, y);
        }
      }
      for (int64_t k = -d + back_low; k <= d - back_high; k += 2) {
        int64_t x = farther(back_, d, k), y = x - k;
        while (x < n && y < m && a(r.old_end - 1 - x) == b(r.new_end - 1 - y)) ++x, ++y;
        at(back_, most + k) = x;
        if (x > n) {
          back_high += 2;
        } else if (y > m) {
          back_low += 2;
        } else if (const int64_t other = most + delta - k;
                   !meets_in_front && other >= 0 && other < size && at(front_, other) != -1 &&
                   at(front_, other) >= n - x) {
          const int64_t meeting = at(front_, other);
          return inside(r, meeting, meeting - (other - most));
        }
      }
    }
    return std::nullopt;
  }

  // A split that leaves the whole region on one side makes no progress.
  static std::optional<std::pair<int64_t, int64_t>> inside(const Region& r, int64_t x, int64_t y) {
    const bool at_begin = x == 0 && y == 0;
    const bool at_end = x == r.old_end - r.old_begin && y == r.new_end - r.new_begin;
    if (at_begin || at_end) return std::nullopt;
    return std::pair{r.old_begin + x, r.new_begin + y};
  }

  const std::vector<Line>& a_;
  const std::vector<Line>& b_;
  std::vector<int64_t> match_;
  std::vector<Seen> seen_;
  std::vector<Region> regions_;
  std::vector<int64_t> front_, back_;
};

void append_lines(std::string& text, char mark, const std::vector<std::string_view>& lines,
                  size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    text += mark;
    text += lines[i];
    text += '\n';
  }
}

// The "12,3" of a hunk header: its first line and its number of lines.
std::string range_text(size_t begin, size_t end) {
  const size_t count = end - begin;
  // An empty range names the line before it.
  std::string text = std::to_string(count == 0 ? begin : begin + 1);
  return count == 1 ? text : text + "," + std::to_string(count);
}

}  // namespace

std::vector<LineChange> diff_lines(const std::vector<std::string_view>& before,
                                   const std::vector<std::string_view>& after) {
  std::unordered_map<std::string_view, Line> numbers;
  auto numbered = [&](const std::vector<std::string_view>& lines) {
    std::vector<Line> result;
    result.reserve(lines.size());
    for (const std::string_view line : lines) {
      result.push_back(numbers.emplace(line, static_cast<Line>(numbers.size())).first->second);
    }
    return result;
  };
  const std::vector<Line> a = numbered(before), b = numbered(after);
  const std::vector<int64_t> match = Matcher(a, b, static_cast<Line>(numbers.size())).run();
  std::vector<LineChange> changes;
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    LineChange change{i, i, j, j};
    while (i < a.size() && match[i] < 0) ++i;
    j = i < a.size() ? static_cast<size_t>(match[i]) : b.size();
    change.old_end = i;
    change.new_end = j;
    if (change.old_begin != i || change.new_begin != j) changes.push_back(change);
    while (i < a.size() && j < b.size() && match[i] == static_cast<int64_t>(j)) ++i, ++j;
  }
  return changes;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text = end == std::string_view::npos ? "" : text.substr(end + 1);
  }
  return lines;
}

std::string unified_diff(std::string_view before, std::string_view after,
                         const std::string& before_name, const std::string& after_name,
                         size_t context) {
  const std::vector<std::string_view> a = split_lines(before), b = split_lines(after);
  return unified_diff(a, b, diff_lines(a, b), before_name, after_name, context);
}

std::string unified_diff(const std::vector<std::string_view>& a,
                         const std::vector<std::string_view>& b,
                         const std::vector<LineChange>& changes, const std::string& before_name,
                         const std::string& after_name, size_t context) {
  if (changes.empty()) return "";
  std::string text = "--- " + before_name + "\n+++ " + after_name + "\n";
  for (size_t first = 0; first < changes.size();) {
    // Changes whose contexts touch form one hunk.
    size_t last = first;
    while (last + 1 < changes.size() &&
           changes[last + 1].old_begin - changes[last].old_end <= 2 * context) {
      ++last;
    }
    const size_t lead = std::min(context, changes[first].old_begin);
    const size_t trail = std::min(context, a.size() - changes[last].old_end);
    const size_t begin = changes[first].old_begin - lead;
    text += "@@ -" + range_text(begin, changes[last].old_end + trail) + " +" +
            range_text(changes[first].new_begin - lead, changes[last].new_end + trail) + " @@\n";
    size_t shown = begin;
    for (size_t c = first; c <= last; ++c) {
      append_lines(text, ' ', a, shown, changes[c].old_begin);
      append_lines(text, '-', a, changes[c].old_begin, changes[c].old_end);
      append_lines(text, '+', b, changes[c].new_begin, changes[c].new_end);
      shown = changes[c].old_end;
    }
    append_lines(text, ' ', a, shown, shown + trail);
    first = last + 1;
  }
  return text;
}

}  // namespace tapml
