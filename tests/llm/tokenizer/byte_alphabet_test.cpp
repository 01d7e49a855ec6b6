#include "llm/tokenizer/byte_alphabet.h"

#include <gtest/gtest.h>

namespace tapml::tokenizer {
namespace {

TEST(ByteAlphabet, SpellsEveryByteAndReadsItBack) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) {
    EXPECT_EQ(code_point_to_byte(byte_to_code_point(static_cast<uint8_t>(byte))), byte);
    bytes.push_back(static_cast<char>(byte));
  }
  std::string back = "kept";
  EXPECT_TRUE(unspell_bytes(spell_bytes(bytes), back));
  EXPECT_EQ(back, "kept" + bytes);
}

TEST(ByteAlphabet, HasTheUsualSpellings) {
  EXPECT_EQ(spell_bytes(" a\n\t~"), "\u0120a\u010A\u0109~");
  EXPECT_EQ(spell_bytes("\u00e9"), "\u00C3\u00A9");
  EXPECT_EQ(byte_to_code_point(0xAD), 0x143u);
  EXPECT_EQ(byte_to_code_point(0x00), 0x100u);
  EXPECT_EQ(byte_to_code_point(0xFF), 0xFFu);
}

TEST(ByteAlphabet, LeavesTheOutputAloneWhenACharacterIsNotInIt) {
  std::string out = "kept";
  EXPECT_FALSE(unspell_bytes("ab c", out));
  EXPECT_EQ(out, "kept");
  EXPECT_EQ(code_point_to_byte(0x144), -1);
  EXPECT_EQ(code_point_to_byte(' '), -1);
}

}  // namespace
}  // namespace tapml::tokenizer
