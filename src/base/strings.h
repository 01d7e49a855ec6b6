// Small helpers for text in messages.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace tapml {

// "text" in double quotes; quotes, backslashes and control characters escaped, and cut with "..."
// where it is longer than `most` bytes (never inside a UTF-8 sequence). Safe for hostile input.
std::string in_quotes(std::string_view text, size_t most = 80);

// Length of the valid UTF-8 sequence (no overlong form, no surrogate, at most U+10FFFF) at
// `position`, 1 to 4, or 0 where there is none.
size_t utf8_sequence_length(std::string_view text, size_t position);

// "a", "a or b", "a, b or c".
std::string join_choices(std::span<const std::string_view> choices);

}  // namespace tapml
