// Small text helpers for messages.
#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace tapml {

// `text` in double quotes, with quotes, backslashes and control characters escaped, and cut with
// "..." if it is longer than `most` bytes (never inside a UTF-8 sequence). Safe for hostile input.
std::string in_quotes(std::string_view text, size_t most = 80);

// Length (1 to 4) of the valid UTF-8 sequence at `position` (no overlong form, no surrogate, at
// most U+10FFFF), or 0 if there is none.
size_t utf8_sequence_length(std::string_view text, size_t position);

// Joins the items, each converted by `text`, with `between`: "a, b, c".
template <std::ranges::input_range Items,
          std::invocable<std::ranges::range_reference_t<Items>> Text>
std::string join(Items&& items, Text&& text, std::string_view between = ", ") {
  std::string joined;
  bool is_first = true;
  for (const auto& item : items) {
    if (!is_first) joined += between;
    joined += std::invoke(text, item);
    is_first = false;
  }
  return joined;
}

template <std::ranges::input_range Items>
std::string join(Items&& items, std::string_view between = ", ") {
  return join(std::forward<Items>(items), std::identity(), between);
}

// "a", "a or b", "a, b or c".
std::string join_choices(std::span<const std::string_view> choices);

}  // namespace tapml
