// Texts as Python sees them: sequences of code points, with Unicode's properties. All arguments are
// valid UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tapml::jinja {

struct CodePoint {
  char32_t value = 0;
  size_t length = 1;  // bytes
};
CodePoint code_point_at(std::string_view text, size_t position);
void append_code_point(std::string& out, char32_t code_point);

// The correctly rounded value of a decimal number; nothing for another text and for a number beyond
// double.
std::optional<double> decimal_number(std::string_view text);

int64_t count_code_points(std::string_view text);
// The byte at which the code point `index` begins; the size for a larger index.
size_t byte_of(std::string_view text, int64_t index);
std::vector<std::string_view> split_code_points(std::string_view text);

bool is_space(char32_t code_point);  // str.isspace
// str.strip() and so on; with `characters`, of any of these.
std::string_view strip(std::string_view text, bool left, bool right,
                       const std::string* characters = nullptr);
// str.splitlines().
std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends = false);
// str.split() by white space, at most `most` times (-1: any).
std::vector<std::string_view> split_words(std::string_view text, int64_t most, bool from_right);
// The same by a separator, which is not empty.
std::vector<std::string_view> split_by(std::string_view text, std::string_view separator,
                                       int64_t most, bool from_right);
// str.replace(); `most` < 0: all. `limit` bounds the result's bytes: beyond, it is cut.
std::string replaced(std::string_view text, std::string_view old, std::string_view by, int64_t most,
                     size_t limit);

std::string lower(std::string_view text);
std::string upper(std::string_view text);
std::string capitalized(std::string_view text);
std::string titled(std::string_view text);        // str.title()
std::string titled_words(std::string_view text);  // the filter `title`
std::string swapped_case(std::string_view text);

enum class CharacterTest : uint8_t {
  kAlpha,
  kDigit,
  kDecimal,
  kNumeric,
  kAlnum,
  kSpace,
  kLower,
  kUpper,
  kTitle,
  kAscii,
};
bool test_characters(std::string_view text, CharacterTest test);

// The text with &, <, > and quotes as entities of HTML.
std::string escaped(std::string_view text);

// Appends Python's repr() of a text.
void append_quoted(std::string& out, std::string_view text);

}  // namespace tapml::jinja
