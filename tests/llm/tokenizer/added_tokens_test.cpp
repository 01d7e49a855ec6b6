#include "llm/tokenizer/added_tokens.h"

#include <gtest/gtest.h>

#include "sample_tokenizer.h"

namespace tapml::tokenizer {
namespace {

struct Flags {
  const char* content;
  const char* on = "";  // the flags that are set, space separated
};

// The pieces of `text`: tokens in brackets, each piece followed by "|". Ids count from 100.
std::string pieces(std::vector<Flags> tokens, std::string_view text,
                   std::string_view normalizer = "null") {
  Json list = Json::array();
  int64_t id = 100;
  for (const Flags& token : tokens) {
    Json entry = Json::object();
    entry.set("id", Json::integer(id++));
    entry.set("content", Json::string(token.content));
    for (const char* flag : {"single_word", "lstrip", "rstrip", "normalized", "special"}) {
      entry.set(flag, Json::boolean(std::string_view(token.on).contains(flag)));
    }
    list.push(std::move(entry));
  }
  Json file = Json::object();
  file.set("added_tokens", std::move(list));
  const Json normalizer_file = json_of("{\"normalizer\": " + std::string(normalizer) + "}");
  const auto normal =
      Normalizer::read(JsonObjectReader(normalizer_file, "test"), pcre2_regex_engine(), nullptr);
  if (!normal) return normal.error().to_string();
  std::vector<std::string> warnings;
  const auto added = AddedTokens::read(JsonObjectReader(file, "test"), {}, {}, *normal,
                                       pcre2_regex_engine(), warnings);
  if (!added) return added.error().to_string();
  std::string out;
  auto show = [&out](const TextPiece& piece, std::string_view part) {
    out += piece.id < 0 ? std::string(part) + "|"
                        : "[" + std::to_string(piece.id) + ":" + std::string(part) + "]|";
  };
  auto part_of = [](std::string_view whole, Span span) {
    return whole.substr(span.begin, span.end - span.begin);
  };
  const auto raw = added->split(text);
  if (!raw) return raw.error().to_string();
  for (const TextPiece& piece : *raw) {
    const std::string_view part = part_of(text, piece.span);
    if (piece.id >= 0) {
      show(piece, part);
      continue;
    }
    const auto normalized = normal->normalize(part);
    if (!normalized) return normalized.error().to_string();
    const auto inner = added->split_normalized(*normalized);
    if (!inner) return inner.error().to_string();
    for (const TextPiece& token : *inner) show(token, part_of(*normalized, token.span));
  }
  return out;
}

TEST(AddedTokens, LeftmostThenLongest) {
  EXPECT_EQ(pieces({{"<s>"}, {"<s>x"}, {"s>"}}, "a<s>b<s>xs>"),
            "a|[100:<s>]|b|[101:<s>x]|[102:s>]|");
  EXPECT_EQ(pieces({{"<s>"}}, "<s<s>>"), "<s|[100:<s>]|>|");
  EXPECT_EQ(pieces({{"<s>"}}, ""), "");
  EXPECT_EQ(pieces({}, "plain"), "plain|");
}

TEST(AddedTokens, StripTakesWhiteSpaceAlong) {
  EXPECT_EQ(pieces({{"<m>", "lstrip"}}, "a \u3000<m> b"), "a|[100: \u3000<m>]| b|");
  EXPECT_EQ(pieces({{"<m>", "rstrip"}}, "a <m> \n b"), "a |[100:<m> \n ]|b|");
  EXPECT_EQ(pieces({{"<m>", "lstrip rstrip"}}, "a <m>  <m> b"), "a|[100: <m>  ]|[100:<m> ]|b|");
}

TEST(AddedTokens, ATokenInsideStrippedSpaceIsGone) {
  EXPECT_EQ(pieces({{"  ", "lstrip rstrip"}}, "a    b"), "a|[100:    ]|b|");
}

TEST(AddedTokens, SingleWordsTouchNoWordCharacter) {
  EXPECT_EQ(pieces({{"word", "single_word"}}, "word words sword (word)"),
            "[100:word]| words sword (|[100:word]|)|");
  EXPECT_EQ(pieces({{"word", "single_word"}}, "\u00e9word word\u0301 word_ word"),
            "\u00e9word word\u0301 word_ |[100:word]|");
}

TEST(AddedTokens, RawTokensGoBeforeNormalizedOnes) {
  // Between two raw tokens, the normalized token sees only the text between them.
  EXPECT_EQ(pieces({{"abc", "normalized"}, {"bc"}}, "abcabc"), "a|[101:bc]|a|[101:bc]|");
  EXPECT_EQ(pieces({{"w", "normalized single_word"}, {"x"}}, "xwx"), "[101:x]|[100:w]|[101:x]|");
}

TEST(AddedTokens, NormalizedTokensAreThemselvesNormalized) {
  const std::string_view prepend = R"({"type": "Prepend", "prepend": "_"})";
  EXPECT_EQ(pieces({{"ab", "normalized"}, {"x"}}, "ab abxab", prepend),
            "[100:_ab]| ab|[101:x]|[100:_ab]|");
  const std::string_view letter =
      R"({"type": "Replace", "pattern": {"String": "A"}, "content": "a"})";
  EXPECT_EQ(pieces({{"aB", "normalized"}, {"AB", "normalized special"}}, "ABaBab", letter),
            "[101:aB]|[101:aB]|ab|");
  // Nothing remains of a token, so it is never found.
  const std::string_view strip = R"({"type": "Strip", "strip_left": true, "strip_right": true})";
  EXPECT_EQ(pieces({{" ", "normalized"}}, " a b ", strip), "a b|");
}

}  // namespace
}  // namespace tapml::tokenizer
