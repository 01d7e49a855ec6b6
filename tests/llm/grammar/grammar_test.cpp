#include "llm/grammar/grammar.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/host/files.h"
#include "ir/exceptions.h"
#include "llm/grammar/token_mask.h"
#include "llm/tokenizer/regex_pcre2.h"

namespace tapml::llm {
namespace {

const Tokenizer& demo_tokenizer() {
  static const Tokenizer tokenizer = [] {
    const std::string path = std::string(TAPML_SOURCE_DIR) + "/models/demo/tokenizer.json";
    return unwrap(Tokenizer::parse(unwrap(read_text_file(path, size_t{1} << 24)), path,
                                   tokenizer::pcre2_regex_engine()));
  }();
  return tokenizer;
}
const TokenTexts& demo_texts() {
  static const TokenTexts texts(demo_tokenizer());
  return texts;
}

TokenMask mask_of(const std::string& grammar, std::vector<int32_t> end_tokens = {},
                  int64_t most_steps = 20'000'000) {
  auto parsed = std::make_shared<const Grammar>(unwrap(Grammar::parse(grammar, "test")));
  return {std::move(parsed), demo_texts(), std::move(end_tokens), most_steps};
}

void expect_matches(const std::string& grammar, const std::vector<std::string>& yes,
                    const std::vector<std::string>& no) {
  TokenMask mask = mask_of(grammar);
  for (const std::string& text : yes) EXPECT_TRUE(mask.matches(text)) << grammar << ": " << text;
  for (const std::string& text : no) EXPECT_FALSE(mask.matches(text)) << grammar << ": " << text;
}

TEST(Grammar, HasTheNotationsForms) {
  expect_matches("root ::= \"ab\" | \"c\"", {"ab", "c"}, {"", "a", "abc", "cc"});
  expect_matches("root ::= [a-cx]", {"a", "c", "x"}, {"d", "", "ax"});
  expect_matches("root ::= [^a-c\\n]", {"d", "ä", "日", "\U0001F600"}, {"b", "\n", "\xff"});
  expect_matches("root ::= .", {"a", "\n", "é", "\U0010FFFF"}, {"", "ab", "\xC3", "\xED\xA0\x80"});
  expect_matches("root ::= \"a\"*", {"", "a", "aaaa"}, {"b"});
  expect_matches("root ::= \"ab\"+", {"ab", "abab"}, {"", "aba"});
  expect_matches("root ::= \"a\"?", {"", "a"}, {"aa"});
  expect_matches("root ::= \"a\"{2}", {"aa"}, {"a", "aaa"});
  expect_matches("root ::= \"a\"{2,}", {"aa", "aaaaa"}, {"a"});
  expect_matches("root ::= \"a\"{0,2} \"b\"", {"b", "ab", "aab"}, {"aaab"});
  expect_matches("root ::= (\"a\" | \"b\" \"c\")+ \"d\"", {"ad", "bcd", "abcad"}, {"d", "bd"});
  expect_matches("root ::= \"\\\"\\\\\\x41\\u00e4\\U0001F600\"", {"\"\\Aä\U0001F600"}, {"a"});
  expect_matches("root ::= [\\]\\-^]", {"]", "-", "^"}, {"\\"});
  expect_matches("root ::= [ä-ü]", {"ä", "ö", "ü"}, {"a", "ý", "ã"});
  expect_matches("root ::= [\\u0750-\\uFFFD]", {"ݐ", "日", "\uD7FF", "\uE000"},
                 {"\u074F", "\uFFFE"});
  expect_matches("# a comment\nroot ::= a  # another\n  | b\na ::= \"a\"\n\nb ::=\n  \"b\"",
                 {"a", "b"}, {""});
  expect_matches("root ::= \"a\" root \"b\" | ", {"", "ab", "aabb"}, {"aab", "ba"});
  expect_matches("root ::= (\n \"a\"\n | \"b\"\n)", {"a", "b"}, {"ab"});
}

TEST(Grammar, SaysWhereItIsWrong) {
  const auto refused = [](const std::string& text, const std::string& says) {
    const auto parsed = Grammar::parse(text, "my.gbnf");
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().kind, ErrorKind::kUser);
    EXPECT_NE(parsed.error().to_string().find(says), std::string::npos)
        << text << "\n"
        << parsed.error().to_string();
  };
  refused("", "no rule \"root\"");
  refused("a ::= \"a\"", "no rule \"root\"");
  refused("root ::= x", "x ::= ...");
  refused("root ::= \"a", "my.gbnf:1:12");
  refused("root ::= [a", "does not end");
  refused("root ::= []", "class is empty");
  refused("root ::= [b-a]", "range of characters is empty");
  refused("root ::= (\"a\"", "not closed");
  refused("root ::= \"a\"\n)", "my.gbnf:2:1");
  refused("root ::= \"\\q\"", "escape");
  refused("root ::= \"\\xZ0\"", "2 digits");
  refused("root ::= \"\\uD800\"", "surrogate");
  refused("root ::= \"a\"{3,2}", "repetition");
  refused("root ::= \"a\"{9999}", "repetitions");
  refused("root ::= \"a\"\nroot ::= \"b\"", "twice");
  refused("root = \"a\"", "NAME ::=");
  refused("root ::= root \"a\" | \"b\"", "begins with itself");
  refused("root ::= b? root | \"a\"\nb ::= \"b\"", "begins with itself");
  refused("root ::= \"a\" root", "no finite text");
  refused("root ::= a\na ::= \"x\" b\nb ::= \"y\" a", "no finite text");
  refused("root ::= \"\xC3(\"", "UTF-8");
  refused("root ::= " + std::string(500, '(') + "\"a\"" + std::string(500, ')'), "too deep");
  refused("root ::= a{4000}\na ::= \"" + std::string(100, 'x') + "\"{4000}", "too large");
}

TEST(TokenMask, AllowsTheTokensThatMayFollow) {
  TokenMask mask = mask_of("root ::= \"Emma\" (\" was\" | \" has\")+ \".\"", {0});
  const auto allowed = [&] {
    std::vector<float> logits(static_cast<size_t>(demo_tokenizer().vocab_size()), 1);
    mask.apply(logits);
    std::vector<std::string> texts;
    for (size_t token = 0; token < logits.size(); ++token) {
      if (logits[token] == 1) {
        texts.push_back(token == 0 ? "END" : demo_texts().text(static_cast<int32_t>(token)));
      }
    }
    std::ranges::sort(texts);
    return texts;
  };
  const auto accept = [&](const std::string& text) {
    for (int32_t token = 0; token < demo_texts().size(); ++token) {
      if (demo_texts().text(token) == text) return mask.accept(token);
    }
    ADD_FAILURE() << text;
    return false;
  };
  for (const std::string& text : allowed())
    EXPECT_TRUE(std::string("Emma was has").starts_with(text));
  for (const char* letter : {"E", "m", "m", "a"}) accept(letter);
  const std::vector<std::string> next = allowed();
  EXPECT_NE(std::ranges::find(next, " was"), next.end());
  EXPECT_NE(std::ranges::find(next, " "), next.end());
  EXPECT_EQ(std::ranges::find(next, "."), next.end());
  EXPECT_TRUE(accept(" was"));
  EXPECT_FALSE(accept("."));
  EXPECT_EQ(allowed(), std::vector<std::string>{"END"});
}

TEST(Grammar, OfManyRulesTakesAMoment) {
  // Each rule needs the next one; a check that starts over for each would take minutes.
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 60000; ++i) {
    chain += "r" + std::to_string(i) + " ::= \"x\" r" + std::to_string(i + 1) + "\n";
  }
  EXPECT_TRUE(Grammar::parse(chain + "r60000 ::= \"y\"\n", "test"));
  EXPECT_FALSE(Grammar::parse(chain + "r60000 ::= \"y\" r0\n", "test"));
}

TEST(TokenMask, GivesUpOnAGrammarThatIsTooAmbiguous) {
  // What has been read decides, for each of the last 2,000 characters, whether the end may follow:
  // each text has a state of its own, with thousands of stacks.
  TokenMask mask = mask_of("root ::= [ab]* \"a\" [ab]{2000} \"c\"", {}, 200000);
  std::string text;
  for (int i = 0; i < 20000; ++i) text += i % 3 == 0 || i % 7 == 0 ? 'a' : 'b';
  EXPECT_FALSE(mask.matches(text));
  std::vector<float> logits(static_cast<size_t>(demo_tokenizer().vocab_size()), 1);
  mask.apply(logits);
  EXPECT_EQ(std::ranges::count(logits, 1.0f), 0);
  EXPECT_TRUE(mask.accept(0));  // it is not complete
}

TEST(TokenMask, RepetitionsDoNotMakeStatesDeeper) {
  // A hundred thousand characters of a string are one state; otherwise this takes minutes.
  TokenMask mask = mask_of("root ::= \"\\\"\" [^\"]* \"\\\"\"");
  EXPECT_TRUE(mask.matches("\"" + std::string(100000, 'x') + "\""));
  TokenMask nested = mask_of("root ::= \"(\" root \")\" | \"x\"");
  EXPECT_TRUE(nested.matches(std::string(2000, '(') + "x" + std::string(2000, ')')));
  EXPECT_FALSE(nested.matches(std::string(2000, '(') + "x" + std::string(1999, ')')));
}

}  // namespace
}  // namespace tapml::llm
