#include "llm/tokenizer/utf8.h"

#include <gtest/gtest.h>

namespace tapml::tokenizer {
namespace {

TEST(Utf8, FindsTheFirstIllFormedByte) {
  EXPECT_EQ(find_invalid_utf8(""), std::string::npos);
  EXPECT_EQ(find_invalid_utf8("a\u00e9\u4e2d\U0001F44D\U0010FFFF"), std::string::npos);
  EXPECT_EQ(find_invalid_utf8("ab\x80"), 2u);
  EXPECT_EQ(find_invalid_utf8("\xC0\xAF"), 0u);          // overlong
  EXPECT_EQ(find_invalid_utf8("a\xE0\x9F\xBF"), 1u);     // overlong
  EXPECT_EQ(find_invalid_utf8("\xED\xA0\x80"), 0u);      // surrogate
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0u);  // past U+10FFFF
  EXPECT_EQ(find_invalid_utf8("\xF5"), 0u);
  EXPECT_EQ(find_invalid_utf8("\u00e9\xF0\x9F\x91"), 2u);  // truncated
}

TEST(Utf8, AppendIsTheInverseOfNext) {
  for (const char32_t c :
       {0x0, 0x7F, 0x80, 0x7FF, 0x800, 0xD7FF, 0xE000, 0xFFFF, 0x10000, 0x10FFFF}) {
    std::string text;
    append_utf8(text, c);
    const Utf8Step step = next_utf8(text, 0);
    EXPECT_EQ(step.status, Utf8Status::kValid);
    EXPECT_EQ(step.length, text.size());
    EXPECT_EQ(step.code_point, c);
  }
}

std::string through_stream(std::initializer_list<std::string_view> parts) {
  Utf8Stream stream;
  std::string out;
  for (const std::string_view part : parts) {
    stream.push(part, out);
    out += '|';
  }
  stream.finish(out);
  return out;
}

TEST(Utf8, StreamHoldsBackIncompleteSequences) {
  EXPECT_EQ(through_stream({"a\xE4", "\xB8",
                            "\xAD"
                            "b"}),
            "a||\u4e2d"
            "b|");
  EXPECT_EQ(through_stream({"\xF0\x9F", "\x91\x8D"}), "|\U0001F44D|");
}

TEST(Utf8, StreamReplacesEachMaximalSubpartOnce) {
  EXPECT_EQ(through_stream({"\x80\x80"}), "\uFFFD\uFFFD|");
  EXPECT_EQ(through_stream({"\xE4\xB8"
                            "a"}),
            "\uFFFD"
            "a|");
  EXPECT_EQ(through_stream({"\xE4\xB8", "a"}),
            "|\uFFFD"
            "a|");
  EXPECT_EQ(through_stream({"\xF0\x9F\x91"}), "|\uFFFD");
  EXPECT_EQ(through_stream({"\xED\xA0\x80"}), "\uFFFD\uFFFD\uFFFD|");
}

}  // namespace
}  // namespace tapml::tokenizer
