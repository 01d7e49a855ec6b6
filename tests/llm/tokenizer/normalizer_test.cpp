#include "llm/tokenizer/normalizer.h"

#include <gtest/gtest.h>

#include <fstream>

#include "sample_tokenizer.h"
#include "support/golden_path.h"

namespace tapml::tokenizer {
namespace {

std::string normalized(std::string_view normalizer, std::string_view text) {
  const Json file = json_of("{\"normalizer\": " + std::string(normalizer) + "}");
  const auto read =
      Normalizer::read(JsonObjectReader(file, "test"), pcre2_regex_engine(), &utf8proc_tables());
  if (!read) return read.error().to_string();
  const auto result = read->normalize(text);
  return result ? *result : result.error().to_string();
}

TEST(Normalizer, NullChangesNothing) {
  const Json file = json_of("{\"normalizer\": null}");
  const auto read =
      Normalizer::read(JsonObjectReader(file, "test"), pcre2_regex_engine(), &utf8proc_tables());
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

TEST(Normalizer, ASequenceRunsInOrder) {
  const std::string_view llama = R"({"type": "Sequence", "normalizers": [
    {"type": "Prepend", "prepend": "\u2581"},
    {"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"}]})";
  EXPECT_EQ(normalized(llama, " a b"), "\u2581\u2581a\u2581b");
}

TEST(Normalizer, FormsComposeAndDecompose) {
  // Hangul, marks in another order, an excluded composition, a character outside the BMP.
  const std::string text = "\u1100\u1161\u11a8 s\u0323\u0307 \u0958 \U0001d15e \ufb01\u00bd";
  EXPECT_EQ(normalized(R"({"type": "NFC"})", text),
            "\uac01 \u1e69 \u0915\u093c \U0001d157\U0001d165 \ufb01\u00bd");
  EXPECT_EQ(normalized(R"({"type": "NFKC"})", text),
            "\uac01 \u1e69 \u0915\u093c \U0001d157\U0001d165 fi1\u20442");
  EXPECT_EQ(normalized(R"({"type": "NFD"})", "\uac01\u1e69\u00bd"),
            "\u1100\u1161\u11a8s\u0323\u0307\u00bd");
  EXPECT_EQ(normalized(R"({"type": "NFKD"})", "\uac01\u1e69\u00bd"),
            "\u1100\u1161\u11a8s\u0323\u03071\u20442");
  EXPECT_EQ(normalized(R"({"type": "NFC"})", ""), "");
  EXPECT_EQ(normalized(R"({"type": "NFD"})", std::string("\0\u00e9\uffff", 6)),
            std::string("\0e\u0301\uffff", 7));
}

TEST(Normalizer, LowercaseTakesEachCharacterByItself) {
  // No final sigma, no locale, one character that becomes two.
  EXPECT_EQ(
      normalized(R"({"type": "Lowercase"})", "A\u03a3 \u0130I \u1e9e\u01c5 \u2126 \U00010400"),
      "a\u03c3 i\u0307i \u00df\u01c6 \u03c9 \U00010428");
}

TEST(Normalizer, FormsNeedTables) {
  for (const std::string type : {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}) {
    const Json file = json_of("{\"normalizer\": {\"type\": \"" + type + "\"}}");
    const auto read =
        Normalizer::read(JsonObjectReader(file, "test"), pcre2_regex_engine(), nullptr);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().to_string().find("needs tables of Unicode"), std::string::npos);
  }
}

TEST(Normalizer, ReplacementsAreTakenAsTheyAre) {
  EXPECT_EQ(
      normalized(R"({"type": "Replace", "pattern": {"Regex": "(a)+"}, "content": "[$1]"})", "baab"),
      "b[$1]b");
  EXPECT_EQ(normalized(R"({"type": "Replace", "pattern": {"Regex": "o*"}, "content": "b"})", ""),
            "");
}

TEST(Normalizer, EqualsTheReferencePackage) {
  std::ifstream file(testing::golden_path("tokenizer/normalizers.jsonl"));
  ASSERT_TRUE(file.good());
  int lines = 0;
  for (std::string line; std::getline(file, line); ++lines) {
    const Json json = json_of(line);
    const std::string& text = json.find("text")->as_string();
    SCOPED_TRACE(json.find("text")->dump());
    for (const std::string type : {"NFC", "NFD", "NFKC", "NFKD", "Lowercase"}) {
      const Json* changed = json.find(type);
      EXPECT_EQ(normalized("{\"type\": \"" + type + "\"}", text),
                changed ? changed->as_string() : text)
          << type;
    }
  }
  EXPECT_EQ(lines, 1000);
}

}  // namespace
}  // namespace tapml::tokenizer
