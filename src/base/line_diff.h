// The difference of two texts, line by line.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace tapml {

// Lines [old_begin, old_end) of the first text that became [new_begin, new_end) of the second,
// counted from 0; one of the two ranges may be empty.
struct LineChange {
  size_t old_begin = 0, old_end = 0, new_begin = 0, new_end = 0;
  bool operator==(const LineChange&) const = default;
};

// The changes, in order. Lines that occur once in both texts are matched first, along their longest
// common order; the regions between them by Myers' algorithm ("An O(ND) Difference Algorithm",
// 1986, in linear space). The result is not always the shortest difference: a region of thousands
// of lines that share almost nothing becomes one change.
std::vector<LineChange> diff_lines(const std::vector<std::string_view>& before,
                                   const std::vector<std::string_view>& after);

std::vector<std::string_view> split_lines(std::string_view text);  // without line ends

// The unified diff for `changes` from `before` to `after`, as `patch` reads it, with `context`
// lines around each change; empty if there are none.
std::string unified_diff(const std::vector<std::string_view>& before,
                         const std::vector<std::string_view>& after,
                         const std::vector<LineChange>& changes, const std::string& before_name,
                         const std::string& after_name, size_t context = 3);

// The same for two texts and the result of diff_lines(). A missing newline at the end of a text is
// ignored.
std::string unified_diff(std::string_view before, std::string_view after,
                         const std::string& before_name, const std::string& after_name,
                         size_t context = 3);

}  // namespace tapml
