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
std::string pieces(std::vector<Flags> tokens, std::string_view text) {
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
  const auto added = AddedTokens::read(JsonObjectReader(file, "test"), {}, pcre2_regex_engine());
  if (!added) return added.error().to_string();
  const auto split = added->split(text);
  if (!split) return split.error().to_string();
  std::string out;
  for (const TextPiece& piece : *split) {
    const auto part = text.substr(piece.span.begin, piece.span.end - piece.span.begin);
    out += piece.id < 0 ? std::string(part) + "|"
                        : "[" + std::to_string(piece.id) + ":" + std::string(part) + "]|";
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
  // Between two raw tokens the normalized one sees only its own part.
  EXPECT_EQ(pieces({{"abc", "normalized"}, {"bc"}}, "abcabc"), "a|[101:bc]|a|[101:bc]|");
  EXPECT_EQ(pieces({{"w", "normalized single_word"}, {"x"}}, "xwx"), "[101:x]|[100:w]|[101:x]|");
}

}  // namespace
}  // namespace tapml::tokenizer
