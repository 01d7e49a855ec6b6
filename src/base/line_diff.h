// The difference of two texts, line by line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tapml {

// Lines [old_begin, old_end) of the first text that became [new_begin, new_end) of the second; one
// of the two ranges may be empty. Counted from 0.
struct LineChange {
  size_t old_begin = 0, old_end = 0, new_begin = 0, new_end = 0;
  bool operator==(const LineChange&) const = default;
};

// What changed, in order. Lines that stand once in both texts are matched first, in the longest
// order that they share; what lies between them as Myers does ("An O(ND) Difference Algorithm",
// 1986, in linear space): not always the shortest difference. Parts of thousands of lines that
// share hardly anything are not compared to the end: they are one change.
std::vector<LineChange> diff_lines(const std::vector<std::string_view>& before,
                                   const std::vector<std::string_view>& after);

std::vector<std::string_view> split_lines(std::string_view text);  // without their ends

// The unified form of `changes` from `before` to `after`, which `patch` reads, with `context` lines
// around each; empty where there are none.
std::string unified_diff(const std::vector<std::string_view>& before,
                         const std::vector<std::string_view>& after,
                         const std::vector<LineChange>& changes, const std::string& before_name,
                         const std::string& after_name, size_t context = 3);

// The same of two texts and what diff_lines() finds. A text without a newline at its end counts as
// one with it.
std::string unified_diff(std::string_view before, std::string_view after,
                         const std::string& before_name, const std::string& after_name,
                         size_t context = 3);

}  // namespace tapml
