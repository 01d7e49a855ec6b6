#include "llm/tokenizer/rwkv_vocabulary.h"

#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/tokenizer.h"

namespace tapml {
namespace {

using tokenizer::read_rwkv_vocabulary;
using tokenizer::RwkvToken;

// A line for each byte, as Python writes them.
std::string lines_of_bytes() {
  std::string text;
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char kHex[] = "0123456789abcdef";
    text += std::to_string(byte + 1) + " b'\\x" + kHex[byte >> 4] + kHex[byte & 15] + "' 1\n";
  }
  return text;
}

TEST(RwkvVocabulary, ReadsEveryFormOfLiteral) {
  const std::string text =
      "1 '\\x00' 1\n2 'a b' 3\n3 \"it's\" 4\n4 b'\\xf0\\x9f' 2\n5 '\\t\\n\\r\\\\\\'' 5\n"
      "6 '\\xe9' 2\n7 '\\u200b' 3\n8 '\\U0001f600' 4\n9 '\xc3\xa8' 2\n10 ' ' 1\r\n12 b'x' 1";
  const std::vector<std::pair<int32_t, std::string>> expected = {
      {1, std::string(1, '\0')}, {2, "a b"},      {3, "it's"},   {4, "\xf0\x9f"},
      {5, "\t\n\r\\'"},          {6, "\xc3\xa9"}, {7, "\u200b"}, {8, "\xf0\x9f\x98\x80"},
      {9, "\xc3\xa8"},           {10, " "},       {12, "x"}};
  std::vector<std::pair<int32_t, std::string>> found;
  for (RwkvToken& token : unwrap(read_rwkv_vocabulary(text, "file"))) {
    found.emplace_back(token.id, std::move(token.bytes));
  }
  EXPECT_EQ(found, expected);
}

TEST(RwkvVocabulary, NamesTheLineOfABadOne) {
  const std::pair<const char*, const char*> cases[] = {
      {"1 'a' 1\nnonsense\n", "is not an id, a literal and a number of bytes"},
      {"1 'a' 1\n\n2 'b' 1\n", "is not an id, a literal and a number of bytes"},
      {"1 'a' 1\n-2 'b' 1\n", "has no id from 0 to"},
      {"1 'a' 1\n99999999 'b' 1\n", "has no id from 0 to"},
      {"1 'a' 1\n2x 'b' 1\n", "has no id from 0 to"},
      {"1 'a' 1\n2 b 1\n", "has no literal"},
      {"1 'a' 1\n2 'b\" 1\n", "has no literal"},
      {"1 'a' 1\n2 '' 0\n", "has no literal"},
      {"1 'a' 1\n2 'b'c' 3\n", "has no literal"},
      {"1 'a' 1\n2 'b\\' 2\n", "has no literal"},
      {"1 'a' 1\n2 '\\q' 1\n", "has no literal"},
      {"1 'a' 1\n2 '\\x4' 1\n", "has no literal"},
      {"1 'a' 1\n2 '\\ud800' 3\n", "has no literal"},
      {"1 'a' 1\n2 b'\\u0041' 1\n", "has no literal"},
      {"1 'a' 1\n2 b'\xc3\xa9' 2\n", "has no literal"},
      {"1 'a' 1\n2 'b' 2\n", "number of bytes of its literal, 1"},
      {"1 'a' 1\n2 'b' x\n", "number of bytes of its literal, 1"},
      {"1 'a' 1\n1 'b' 1\n", "has the id of another token"},
      {"1 'a' 1\n2 b'a' 1\n", "has the bytes of another token"},
  };
  for (const auto& [text, reason] : cases) {
    SCOPED_TRACE(text);
    const auto tokens = read_rwkv_vocabulary(text, "file");
    ASSERT_FALSE(tokens);
    EXPECT_EQ(tokens.error().kind, ErrorKind::kUser);
    EXPECT_NE(tokens.error().to_string().find("file:2"), std::string::npos)
        << tokens.error().to_string();
    EXPECT_NE(tokens.error().to_string().find(reason), std::string::npos)
        << tokens.error().to_string();
  }
}

TEST(RwkvVocabulary, EachByteNeedsAToken) {
  const std::string all = lines_of_bytes();
  EXPECT_TRUE(Tokenizer::parse_rwkv(all, "file", tokenizer::pcre2_regex_engine()));
  const size_t line = all.find("66 b'\\x41' 1\n");
  ASSERT_NE(line, std::string::npos);
  std::string damaged = all;
  damaged.erase(line, damaged.find('\n', line) + 1 - line);
  const auto refused = Tokenizer::parse_rwkv(damaged, "file", tokenizer::pcre2_regex_engine());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().to_string().find("no token for the byte 65"), std::string::npos)
      << refused.error().to_string();
}

TEST(RwkvVocabulary, TheLongestTokenCounts) {
  const Tokenizer tokenizer = unwrap(Tokenizer::parse_rwkv(
      lines_of_bytes() + "300 'ab' 2\n301 'abcd' 4\n", "file", tokenizer::pcre2_regex_engine()));
  const auto ids = [&](std::string_view text) { return unwrap(tokenizer.encode(text)); };
  EXPECT_EQ(ids("abcd"), std::vector<int32_t>{301});
  EXPECT_EQ(ids("abce"), (std::vector<int32_t>{300, 'c' + 1, 'e' + 1}));
  EXPECT_EQ(ids("abc"), (std::vector<int32_t>{300, 'c' + 1}));
  EXPECT_EQ(ids(""), std::vector<int32_t>{});
  EXPECT_EQ(tokenizer.decode(ids("xabcdé")), "xabcdé");
  // Id 0 ends texts and has no spelling without an added token.
  EXPECT_EQ(tokenizer.decode(std::vector<int32_t>{0, 301, 0}), "abcd");
}

TEST(RwkvVocabulary, AddedTokensAreFoundInTexts) {
  tokenizer::TokenizerFiles files;
  files.added_tokens = {R"({"<s>": 0})", "added_tokens.json"};
  files.special_tokens = {R"({"eos_token": "<s>"})", "special_tokens_map.json"};
  const Tokenizer tokenizer = unwrap(
      Tokenizer::parse_rwkv(lines_of_bytes(), "file", tokenizer::pcre2_regex_engine(), files));
  const auto ids = unwrap(tokenizer.encode("a<s>b"));
  EXPECT_EQ(ids, (std::vector<int32_t>{'a' + 1, 0, 'b' + 1}));
  EXPECT_TRUE(tokenizer.is_special(0));
  EXPECT_EQ(tokenizer.decode(ids), "ab");
  EXPECT_EQ(tokenizer.decode(ids, false), "a<s>b");
  // An id that is taken is refused.
  files.added_tokens = {R"({"<s>": 66})", "added_tokens.json"};
  const auto refused =
      Tokenizer::parse_rwkv(lines_of_bytes(), "file", tokenizer::pcre2_regex_engine(), files);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().to_string().find("is the id of \"A\" too"), std::string::npos)
      << refused.error().to_string();
}

}  // namespace
}  // namespace tapml
