#include "llm/tokenizer/decoder.h"

#include <gtest/gtest.h>

#include "sample_tokenizer.h"

namespace tapml::tokenizer {
namespace {

using Pieces = std::vector<std::string_view>;

Decoder read(std::string_view decoder) {
  const Json file = json_of("{\"decoder\": " + std::string(decoder) + "}");
  auto read = Decoder::read(JsonObjectReader(file, "test"), pcre2_regex_engine());
  EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().to_string());
  return read ? std::move(*read) : Decoder();
}

// The output of each token and at the end: parts followed by "|".
std::string parts(std::string_view decoder, const Pieces& tokens) {
  const Decoder steps = read(decoder);
  DecodeStream stream(steps);
  std::string out;
  for (const std::string_view token : tokens) {
    stream.push(token, out);
    out += '|';
  }
  stream.finish(out);
  std::string again, first = out;
  std::erase(first, '|');
  for (const std::string_view token : tokens) stream.push(token, again);
  stream.finish(again);
  EXPECT_EQ(again, first) << "a stream is not as new after its end";
  return out;
}

constexpr std::string_view kLlama = R"({"type": "Sequence", "decoders": [
    {"type": "Replace", "pattern": {"String": "_"}, "content": " "}, {"type": "ByteFallback"},
    {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";

TEST(Decoder, LlamaDropsTheFirstSpaceOnly) {
  EXPECT_EQ(parts(kLlama, {"_a", "_b", "c_", "_"}), "a| b|c | |");
  EXPECT_EQ(parts(kLlama, {"_", "_a"}), "| a|");
  EXPECT_EQ(parts(kLlama, {"a", "_"}), "a| |");
  EXPECT_EQ(parts(kLlama, {}), "");
}

TEST(Decoder, BytesWaitForTheEndOfTheirRun) {
  EXPECT_EQ(parts(kLlama, {"<0xE4>", "<0xBD>", "<0xA0>", "a"}), "|||\u4F60a|");
  EXPECT_EQ(parts(kLlama, {"<0xE4>", "<0xbd>", "<0xa0>", "<0x41>"}), "||||\u4F60A");
  // One byte too many invalidates all of them.
  EXPECT_EQ(parts(kLlama, {"<0xE4>", "<0xBD>", "<0xA0>", "<0xFF>", "a"}),
            "||||\uFFFD\uFFFD\uFFFD\uFFFDa|");
  EXPECT_EQ(parts(kLlama, {"<0xE4>", "<0xBD>"}), "||\uFFFD\uFFFD");
  EXPECT_EQ(parts(kLlama, {"<0x20>", "<0x20>"}), "|| ");
  EXPECT_EQ(parts(kLlama, {"<0xG0>", "<0x4>", "<0x041>", "0x41"}), "<0xG0>|<0x4>|<0x041>|0x41|");
}

TEST(Decoder, ReplaceTakesRegularExpressionsInWholeTokens) {
  const std::string_view digits =
      R"({"type": "Replace", "pattern": {"Regex": "\\d+"}, "content": "$0"})";
  EXPECT_EQ(parts(digits, {"a12", "3b", ""}), "a$0|$0b||");
  EXPECT_EQ(parts(R"({"type": "Replace", "pattern": {"Regex": "o*"}, "content": "b"})",
                  {"aow", "", "xoo"}),
            "babwb||bxb|");
  // After Fuse, the token ends with the text.
  const std::string fused =
      R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, )" + std::string(digits) + "]}";
  EXPECT_EQ(parts(fused, {"a12", "3b"}), "||a$0b");
}

TEST(Decoder, ReplaceAfterFuseMatchesAcrossTokens) {
  const std::string_view fused = R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
      {"type": "Replace", "pattern": {"String": "abc"}, "content": "-"}]})";
  EXPECT_EQ(parts(fused, {"xa", "b", "cab", "x"}), "x||-|abx|");
  EXPECT_EQ(parts(fused, {"ab", "ab"}), "|ab|ab");
  EXPECT_EQ(parts(fused, {"\u00e9", "\u4F60", "abc"}), "\u00e9|\u4F60|-|");
  const std::string_view each =
      R"({"type": "Replace", "pattern": {"String": "abc"}, "content": "-"})";
  EXPECT_EQ(parts(each, {"xa", "bc", "abcabc"}), "xa|bc|--|");
}

TEST(Decoder, StripOfTokensAndOfTheWhole) {
  const std::string_view each = R"({"type": "Strip", "content": "x", "start": 1, "stop": 2})";
  EXPECT_EQ(parts(each, {"xxaxxx", "x", "xx", "ax", "a"}), "xax|||a|a|");
  const std::string_view whole = R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
      {"type": "Strip", "content": "x", "start": 2, "stop": 2}]})";
  EXPECT_EQ(parts(whole, {"x", "xx", "a", "x", "x", "x", "b", "xx"}), "||xa|||x|xxb||");
  EXPECT_EQ(parts(whole, {"xxxxx"}), "x|");
}

TEST(Decoder, MetaspaceDropsTheFirstMarks) {
  EXPECT_EQ(parts(R"({"type": "Metaspace", "replacement": "_"})", {"_a_", "_b"}), "a| b|");
  EXPECT_EQ(parts(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "first"})",
                  {"_a", "_b"}),
            "a| b|");
  for (const char* never : {R"("prepend_scheme": "never")", R"("add_prefix_space": false)"}) {
    EXPECT_EQ(parts(std::string(R"({"type": "Metaspace", "replacement": "_", )") + never + "}",
                    {"_a", "_b"}),
              " a| b|");
  }
}

TEST(Decoder, ByteLevelNeverCutsACharacter) {
  EXPECT_EQ(parts(R"({"type": "ByteLevel"})", {"\u00c3", "\u00a9a", "\u00c3", "b", "\u00c3"}),
            "|\u00e9a||\uFFFD"
            "b||\uFFFD");
  EXPECT_EQ(parts(R"({"type": "Sequence", "decoders": [{"type": "ByteLevel"}, {"type": "Fuse"},
      {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
                  {"\u0120a", "\u0120b"}),
            "a| b|");
}

TEST(Decoder, WordPieceJoinsPiecesAndCleansUp) {
  constexpr std::string_view kPlain = R"({"type": "WordPiece", "prefix": "##", "cleanup": false})";
  EXPECT_EQ(parts(kPlain, {"##un", "##able", "to", "."}), "##un|able| to| .|");
  EXPECT_EQ(parts(R"({"type": "WordPiece"})", {"do", "n't", "stop", ",", "it", "'s", "?"}),
            "do|n't| stop|,| it|'s|?|");
}

}  // namespace
}  // namespace tapml::tokenizer
