#include "base/suggest.h"

#include <algorithm>

namespace tapml {

namespace {

// Longer names get no suggestion: a comparison takes time proportional to both lengths.
constexpr size_t kLongest = 64;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment distance, ignoring case.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = lower(a[i - 1]) == lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) &&
          lower(a[i - 2]) == lower(b[j - 1])) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    before.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, const std::vector<std::string_view>& candidates) {
  if (name.empty() || name.size() > kLongest) return "";
  const size_t most = std::max<size_t>(1, name.size() / 3);
  size_t best = most + 1;
  std::string_view found;
  for (const std::string_view candidate : candidates) {
    if (candidate.empty()) continue;
    if (candidate.size() > name.size() + most || candidate.size() + most < name.size()) continue;
    // A single letter is close to every other one.
    if (candidate.size() < 2 && name.size() < 2 && lower(candidate[0]) != lower(name[0])) continue;
    const size_t changes = distance(name, candidate);
    if (changes < best && changes < std::max<size_t>(candidate.size(), 2)) {
      best = changes;
      found = candidate;
    }
  }
  return std::string(found);
}

std::string longer_name(std::string_view name, const std::vector<std::string_view>& candidates) {
  constexpr size_t kShortest = 2;
  if (name.size() < kShortest) return "";
  for (const std::string_view candidate : candidates) {
    if (candidate.starts_with(name)) return std::string(candidate);
  }
  return "";
}

std::vector<std::string_view> related_names(std::string_view name,
                                            const std::vector<std::string_view>& candidates,
                                            size_t most) {
  constexpr size_t kShortest = 3;
  const std::string_view start = name.substr(0, kLongest);
  struct Related {
    size_t common, changes;
    std::string_view name;
  };
  std::vector<Related> found;
  for (const std::string_view candidate : candidates) {
    const size_t limit = std::min(start.size(), candidate.size());
    size_t common = 0;
    while (common < limit && lower(start[common]) == lower(candidate[common])) ++common;
    if (common >= kShortest) found.push_back({common, distance(start, candidate), candidate});
  }
  std::ranges::stable_sort(found, [](const Related& a, const Related& b) {
    return a.common != b.common ? a.common > b.common : a.changes < b.changes;
  });
  std::vector<std::string_view> names;
  for (const Related& one : found) {
    if (names.size() < most) names.push_back(one.name);
  }
  return names;
}

std::string suggestion(std::string_view name, const std::vector<std::string_view>& candidates) {
  const std::string nearest = nearest_name(name, candidates);
  return nearest.empty() ? "" : "did you mean '" + nearest + "'?";
}

}  // namespace tapml
