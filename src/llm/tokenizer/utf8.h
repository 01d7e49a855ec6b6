// UTF-8 in small steps: validation, code points, and the lossy conversion of decoders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tapml::tokenizer {

enum class Utf8Status { kValid, kInvalid, kIncomplete };

// One step: a whole code point, an ill-formed maximal subpart (1 to 3 bytes, as Unicode defines it
// for replacement), or a sequence that the end of the text truncates.
struct Utf8Step {
  Utf8Status status = Utf8Status::kInvalid;
  size_t length = 1;
  char32_t code_point = 0;
};

// Reads one step at `position`, which must lie inside `text`.
Utf8Step next_utf8(std::string_view text, size_t position);

// Byte offset of the first ill-formed sequence, or npos if `text` is valid UTF-8.
size_t find_invalid_utf8(std::string_view text);

// Unicode White_Space.
bool is_white_space(char32_t code_point);

// The start of the code point that ends at `end` (not 0) of a valid text.
size_t previous_start(std::string_view text, size_t end);

// The start of the white space before `end` of a valid text, at least `limit`.
size_t space_before(std::string_view text, size_t end, size_t limit);

// The end of the white space after `start` of a valid text.
size_t space_after(std::string_view text, size_t start);

// Appends the encoding of a Unicode scalar value.
void append_utf8(std::string& out, char32_t code_point);

// Converts a stream of bytes to valid UTF-8: each ill-formed maximal subpart becomes U+FFFD, and an
// incomplete sequence is held back until more bytes arrive or `finish` is called.
class Utf8Stream {
 public:
  void push(std::string_view bytes, std::string& out);
  // Ends the stream: held back bytes become U+FFFD.
  void finish(std::string& out);

 private:
  std::string pending_;
};

}  // namespace tapml::tokenizer
