#include "llm/tokenizer/normalizer.h"

#include <gtest/gtest.h>

#include "sample_tokenizer.h"

namespace tapml::tokenizer {
namespace {

std::string normalized(std::string_view normalizer, std::string_view text) {
  const Json file = json_of("{\"normalizer\": " + std::string(normalizer) + "}");
  const auto read = Normalizer::read(JsonObjectReader(file, "test"), pcre2_regex_engine());
  if (!read) return read.error().to_string();
  const auto result = read->normalize(text);
  return result ? *result : result.error().to_string();
}

TEST(Normalizer, NullChangesNothing) {
  const Json file = json_of("{\"normalizer\": null}");
  const auto read = Normalizer::read(JsonObjectReader(file, "test"), pcre2_regex_engine());
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->is_identity());
  EXPECT_EQ(*read->normalize(" a\n"), " a\n");
}

TEST(Normalizer, PrependLeavesEmptyTextsAlone) {
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "__"})", "a"), "__a");
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "__"})", ""), "");
}

TEST(Normalizer, ReplaceTakesEveryMatchFromTheLeft) {
  EXPECT_EQ(
      normalized(R"({"type": "Replace", "pattern": {"String": "aa"}, "content": "b"})", "aaaaa aa"),
      "bba b");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "})",
                       "a\n\n b\u3000c"),
            "a b c");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"Regex": "o*"}, "content": "b"})", "aow"),
            "babwb");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"String": "."}, "content": ""})", "a.b"),
            "ab");
}

TEST(Normalizer, GrowthIsBounded) {
  std::string steps;
  for (int i = 0; i < 40; ++i) {
    steps += std::string(i ? "," : "") +
             R"({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"})";
  }
  const std::string result =
      normalized(R"({"type": "Sequence", "normalizers": [)" + steps + "]}", "a");
  EXPECT_NE(result.find("the normalizer makes the text too long"), std::string::npos) << result;
}

TEST(Normalizer, StripTakesUnicodeWhiteSpace) {
  auto strip = [](bool left, bool right) {
    return normalized(std::string(R"({"type": "Strip", "strip_left": )") +
                          (left ? "true" : "false") + R"(, "strip_right": )" +
                          (right ? "true}" : "false}"),
                      "\u2003 a b\u00a0\n");
  };
  EXPECT_EQ(strip(true, true), "a b");
  EXPECT_EQ(strip(true, false), "a b\u00a0\n");
  EXPECT_EQ(strip(false, true), "\u2003 a b");
  EXPECT_EQ(strip(false, false), "\u2003 a b\u00a0\n");
  EXPECT_EQ(normalized(R"({"type": "Strip", "strip_left": true, "strip_right": true})", " \t "),
            "");
}

TEST(Normalizer, ASequenceGoesInOrder) {
  const std::string_view llama = R"({"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "\u2581"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]})";
  EXPECT_EQ(normalized(llama, " a b"), "\u2581\u2581a\u2581b");
}

}  // namespace
}  // namespace tapml::tokenizer
