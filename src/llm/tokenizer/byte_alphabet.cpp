#include "llm/tokenizer/byte_alphabet.h"

#include <array>

#include "llm/tokenizer/utf8.h"

namespace tapml::tokenizer {
namespace {

constexpr int kAlphabetEnd = 0x144;

struct Alphabet {
  std::array<uint16_t, 256> spelled{};
  std::array<int16_t, kAlphabetEnd> byte{};
};

constexpr bool spells_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr Alphabet make_alphabet() {
  Alphabet alphabet;
  for (auto& byte : alphabet.byte) byte = -1;
  int next = 0x100;
  for (int byte = 0; byte < 256; ++byte) {
    const int code_point = spells_itself(byte) ? byte : next++;
    alphabet.spelled[byte] = static_cast<uint16_t>(code_point);
    alphabet.byte[code_point] = static_cast<int16_t>(byte);
  }
  return alphabet;
}

constexpr Alphabet kAlphabet = make_alphabet();

}  // namespace

char32_t byte_to_code_point(uint8_t byte) { return kAlphabet.spelled[byte]; }

int code_point_to_byte(char32_t code_point) {
  return code_point < kAlphabetEnd ? kAlphabet.byte[code_point] : -1;
}

std::string spell_bytes(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(out, byte_to_code_point(static_cast<uint8_t>(byte)));
  return out;
}

bool unspell_bytes(std::string_view text, std::string& out) {
  const size_t before = out.size();
  for (size_t i = 0; i < text.size();) {
    const Utf8Step step = next_utf8(text, i);
    const int byte = step.status == Utf8Status::kValid ? code_point_to_byte(step.code_point) : -1;
    if (byte < 0) {
      out.resize(before);
      return false;
    }
    out.push_back(static_cast<char>(byte));
    i += step.length;
  }
  return true;
}

}  // namespace tapml::tokenizer
