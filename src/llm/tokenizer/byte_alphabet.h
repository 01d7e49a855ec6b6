// The printable alphabet of byte-level tokenizers for the 256 bytes: printable Latin-1 characters
// represent themselves, the other bytes use the code points from U+0100 on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tapml::tokenizer {

// The code point that spells `byte` (at most U+0143).
char32_t byte_to_code_point(uint8_t byte);

// The byte that `code_point` spells, or -1 if it is not in the alphabet.
int code_point_to_byte(char32_t code_point);

// Spells every byte of `bytes`; the result is UTF-8.
std::string spell_bytes(std::string_view bytes);

// Appends the bytes that `text` (valid UTF-8) spells. Returns false and keeps `out` if a character
// is not in the alphabet.
bool unspell_bytes(std::string_view text, std::string& out);

}  // namespace tapml::tokenizer
