#include "llm/tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include "sample_tokenizer.h"

namespace tapml::tokenizer {
namespace {

// The words of `text`, each followed by "|".
std::string words(std::string_view pre_tokenizer, std::string_view text) {
  const Json file = json_of("{\"pre_tokenizer\": " + std::string(pre_tokenizer) + "}");
  const auto read =
      PreTokenizer::read(JsonObjectReader(file, "tokenizer.json"), pcre2_regex_engine());
  if (!read) return read.error().to_string();
  const auto split = read->split(text);
  if (!split) return split.error().to_string();
  std::string out;
  for (const std::string_view word : split->views()) out.append(word).append("|");
  return out;
}

std::string byte_level(bool prefix, bool regex) {
  return std::string(R"({"type": "ByteLevel", "add_prefix_space": )") +
         (prefix ? "true" : "false") + R"(, "use_regex": )" + (regex ? "true}" : "false}");
}

std::string sequence(std::initializer_list<std::string> steps) {
  std::string out;
  for (const auto& step : steps) out += (out.empty() ? "" : ", ") + step;
  return R"({"type": "Sequence", "pretokenizers": [)" + out + "]}";
}

std::string split_then_bytes(std::string_view pattern, std::string_view behavior,
                             bool invert = false) {
  return sequence({R"({"type": "Split", "pattern": )" + std::string(pattern) +
                       R"(, "behavior": ")" + std::string(behavior) + R"(", "invert": )" +
                       (invert ? "true}" : "false}"),
                   byte_level(false, false)});
}

TEST(PreTokenizer, ByteLevelCutsWords) {
  EXPECT_EQ(words(byte_level(false, true), "Hello, it's  12!\n"), "Hello|,| it|'s| | 12|!|\n|");
  EXPECT_EQ(words(byte_level(true, true), "a b"), " a| b|");
  EXPECT_EQ(words(byte_level(true, true), " a"), " a|");
  EXPECT_EQ(words(byte_level(true, false), "a b"), " a b|");
  EXPECT_EQ(words(byte_level(true, true), ""), "");
}

TEST(PreTokenizer, EveryBehaviorOfASplit) {
  constexpr std::string_view kDash = R"({"String": "-"})";
  constexpr std::string_view kText = "the-final--countdown";
  EXPECT_EQ(words(split_then_bytes(kDash, "Removed"), kText), "the|final|countdown|");
  EXPECT_EQ(words(split_then_bytes(kDash, "Isolated"), kText), "the|-|final|-|-|countdown|");
  EXPECT_EQ(words(split_then_bytes(kDash, "MergedWithPrevious"), kText),
            "the-|final-|-|countdown|");
  EXPECT_EQ(words(split_then_bytes(kDash, "MergedWithNext"), kText), "the|-final|-|-countdown|");
  EXPECT_EQ(words(split_then_bytes(kDash, "Contiguous"), kText), "the|-|final|--|countdown|");
}

TEST(PreTokenizer, AnInvertedSplitTakesTheGapsAsDelimiters) {
  constexpr std::string_view kLetters = R"({"Regex": "[a-z]+"})";
  EXPECT_EQ(words(split_then_bytes(kLetters, "Removed", true), "ab1cd22"), "ab|cd|");
  EXPECT_EQ(words(split_then_bytes(kLetters, "MergedWithPrevious", true), "ab1cd22"), "ab1|cd22|");
  EXPECT_EQ(words(split_then_bytes(kLetters, "MergedWithNext", true), "ab1cd22"), "ab|1cd|22|");
}

TEST(PreTokenizer, StringsAreNotPatterns) {
  EXPECT_EQ(words(split_then_bytes(R"({"String": "."})", "Isolated"), "a.b"), "a|.|b|");
}

TEST(PreTokenizer, Llama3Words) {
  const std::string pattern =
      R"({"Regex": "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"})";
  EXPECT_EQ(words(split_then_bytes(pattern, "Isolated"), "WE'LL pay $12345;\n\n  ok"),
            "WE|'LL| pay| $|123|45|;\n\n| | ok|");
}

TEST(PreTokenizer, DigitsAndPunctuation) {
  const auto digits = [](const char* each) {
    return sequence({std::string(R"({"type": "Digits", "individual_digits": )") + each + "}",
                     byte_level(false, false)});
  };
  EXPECT_EQ(words(digits("true"), "a12b3"), "a|1|2|b|3|");
  EXPECT_EQ(words(digits("false"), "a12b3"), "a|12|b|3|");
  const auto punctuation = sequence({R"({"type": "Punctuation"})", byte_level(false, false)});
  EXPECT_EQ(words(punctuation, "a$b\u3002c"), "a|$|b|\u3002|c|");
}

TEST(PreTokenizer, EachPieceGetsItsPrefixSpace) {
  EXPECT_EQ(
      words(sequence({R"({"type": "Split", "pattern": {"String": "-"}, "behavior": "Isolated"})",
                      byte_level(true, false)}),
            "a-b"),
      " a| -| b|");
}

TEST(PreTokenizer, StepsAfterByteLevelSeeTheByteAlphabet) {
  // The space is encoded as U+0120 by then, so splitting at a plain space finds nothing.
  const std::string space =
      R"({"type": "Split", "pattern": {"String": " "}, "behavior": "Isolated"})";
  const std::string spelled =
      "{\"type\": \"Split\", \"pattern\": {\"String\": \"\u0120\"}, \"behavior\": \"Isolated\"}";
  EXPECT_EQ(words(sequence({byte_level(false, false), space}), "a b"), "a b|");
  EXPECT_EQ(words(sequence({byte_level(false, false), spelled}), "a b"), "a| |b|");
}

std::string metaspace(std::string_view fields) {
  return R"({"type": "Metaspace", "replacement": "_")" + std::string(fields) + "}";
}

TEST(PreTokenizer, MetaspaceMarksSpaces) {
  EXPECT_EQ(words(metaspace(""), "a b"), "_a|_b|");
  EXPECT_EQ(words(metaspace(""), " a  b "), "_a|_|_b|_|");
  EXPECT_EQ(words(metaspace(""), "_a\n"), "_a\n|");
  EXPECT_EQ(words(metaspace(R"(, "split": false)"), "a  b"), "_a__b|");
  EXPECT_EQ(words(metaspace(R"(, "prepend_scheme": "never")"), "a b"), "a|_b|");
  EXPECT_EQ(words(metaspace(R"(, "add_prefix_space": false)"), "a b"), "a|_b|");
  EXPECT_EQ(words(metaspace(R"(, "add_prefix_space": true)"), "a b"), "_a|_b|");
  EXPECT_EQ(words(metaspace(""), ""), "");
}

TEST(PreTokenizer, MetaspaceFirstIsAboutTheInput) {
  const Json file =
      json_of("{\"pre_tokenizer\": " + metaspace(R"(, "prepend_scheme": "first")") + "}");
  const auto read = PreTokenizer::read(JsonObjectReader(file, "test"), pcre2_regex_engine());
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->byte_level());
  EXPECT_EQ(read->split("a b", true)->views(), (std::vector<std::string_view>{"_a", "_b"}));
  EXPECT_EQ(read->split("a b", false)->views(), (std::vector<std::string_view>{"a", "_b"}));
  // After another step, only the first word is at the beginning.
  EXPECT_EQ(words(sequence({R"({"type": "Digits", "individual_digits": true})",
                            metaspace(R"(, "prepend_scheme": "first")")}),
                  "a1b c"),
            "_a|1|b|_c|");
}

TEST(PreTokenizer, NullLeavesTheTextWhole) { EXPECT_EQ(words("null", "a b\n"), "a b\n|"); }

}  // namespace
}  // namespace tapml::tokenizer
