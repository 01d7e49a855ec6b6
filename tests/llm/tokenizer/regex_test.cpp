#include "llm/tokenizer/regex.h"

#include <gtest/gtest.h>

#include <string>

#include "llm/tokenizer/regex_dialect.h"
#include "llm/tokenizer/regex_pcre2.h"

namespace tapml::tokenizer {
namespace {

// The matches with "|" between them.
std::string matches(std::string_view pattern, std::string_view text) {
  const auto regex = pcre2_regex_engine().compile(pattern);
  if (!regex) return "error: " + regex.error().message;
  std::vector<Span> spans;
  const auto status = (*regex)->find_all(text, spans);
  if (!status) return "error: " + status.error().message;
  std::string out;
  for (const Span& span : spans) {
    if (!out.empty()) out += '|';
    out += text.substr(span.begin, span.end - span.begin);
  }
  return out;
}

size_t count(std::string_view pattern, std::string_view text) {
  std::vector<Span> spans;
  EXPECT_TRUE((*pcre2_regex_engine().compile(pattern))->find_all(text, spans));
  return spans.size();
}

TEST(Regex, SeesUnicodeProperties) {
  EXPECT_EQ(matches("\\p{L}+|\\p{N}+", "na\u00efve 12\u0663 \u4e16"), "na\u00efve|12\u0663|\u4e16");
  EXPECT_EQ(matches("(?i:k's)", "k'S \u212A'\u017F"), "k'S|\u212A'\u017F");
}

TEST(Regex, KeepsTrailingSpaceForTheNextWord) {
  EXPECT_EQ(matches(" ?\\p{L}+|\\s+(?!\\S)|\\s+", "a   b  "), "a|  | b|  ");
}

TEST(Regex, EmptyMatchesAdvanceByCharacters) {
  EXPECT_EQ(count("x*", "\u00e9\u4e2d"), 3u);  // before each character and at the end
  EXPECT_EQ(count("x*", "axb"), 3u);           // at a, x, at the end; not empty behind x
  EXPECT_EQ(count("^", "a\nb"), 2u);
  EXPECT_EQ(count(".", ""), 0u);
}

TEST(Regex, WhiteSpaceIsTheUnicodeProperty) {
  EXPECT_EQ(count("\\s", "\t\n\v\f\r \u0085\u00A0\u1680\u2000\u2028\u2029\u202F\u205F\u3000"), 15u);
  EXPECT_EQ(count("\\s", "\u180E\u200B\uFEFF"), 0u);
  EXPECT_EQ(count("[^\\s]", "a\u180E \u200B"), 3u);
  EXPECT_EQ(count("[\\S]", "a\u180E \u200B"), 3u);
}

TEST(Regex, WordCharactersAreOnigurumas) {
  // A mark, a connector and a letter number are words; a fraction only outside brackets.
  EXPECT_EQ(count("\\w", "a\u0301\u203F\u2167\u00BD"), 5u);
  EXPECT_EQ(count("[\\w]", "a\u0301\u203F\u2167\u00BD"), 4u);
  EXPECT_EQ(count("\\W", "a-\u24B6"), 1u);  // circled letters are alphabetic
  EXPECT_EQ(matches("\\b\\w+\\b", "ab, c"), "ab|c");
  EXPECT_EQ(matches("\\h+", "xafg09"), "af|09");
}

TEST(Regex, ScriptsAreWithoutExtensions) {
  EXPECT_EQ(matches("\\p{Han}", "\u3001\u4e2d"), "\u4e2d");
  EXPECT_EQ(matches("\\p{^Han}", "\u3001\u4e2d"), "\u3001");
}

TEST(Regex, OptionsAndIntervalsFollowRuby) {
  EXPECT_EQ(matches("(?m:a.b)", "a\nb"), "a\nb");
  EXPECT_EQ(matches("a.b", "a\nb"), "");
  EXPECT_EQ(matches("a{,2}b", "aaab"), "aab");
  EXPECT_EQ(matches("a{x", "a{x"), "a{x");
  EXPECT_EQ(matches("\\p{N}{1,3}", "12345"), "123|45");
}

TEST(Regex, LongTextsDoNotExhaustTheMatcher) {
  const std::string letters(300000, 'a');
  EXPECT_EQ(count("\\p{L}+", letters), 1u);
  EXPECT_EQ(count("(?:a|b)+", letters), 1u);
  EXPECT_EQ(count("\\s+(?!\\S)|\\s+", std::string(300000, ' ') + "x"), 2u);
}

TEST(Regex, GivesUpWithAPlatformError) {
  const auto regex = pcre2_regex_engine().compile("(a+)+$");
  ASSERT_TRUE(regex.has_value());
  std::vector<Span> spans;
  const auto status = (*regex)->find_all(std::string(40, 'a') + "!", spans);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().kind, ErrorKind::kPlatform);
  EXPECT_EQ(status.error().fault, PlatformFault::kLimit);
}

TEST(Regex, RefusesWhatItCannotTranslate) {
  const struct {
    const char* pattern;
    const char* message;
    const char* where;
  } kCases[] = {
      {"a[b[c]]", "a class inside a class", "byte 3"},
      {"[a-z&&[^b]]", "an intersection of classes", "byte 4"},
      {"[\\W]", "\\W inside a class", "byte 1"},
      {"[[:graph:]]", "the class [:graph:]", "byte 1"},
      {"a{2,3}+", "an interval followed by +", "byte 1"},
      {"[abc", "a class without its ]", "byte 0"},
      {"ab\\", "a backslash at its end", "byte 2"},
  };
  for (const auto& c : kCases) {
    const auto translated = onig_to_pcre2(c.pattern);
    ASSERT_FALSE(translated.has_value()) << c.pattern;
    EXPECT_EQ(translated.error().kind, ErrorKind::kUser);
    EXPECT_NE(translated.error().message.find(c.message), std::string::npos)
        << translated.error().message;
    EXPECT_TRUE(translated.error().where.starts_with(c.where)) << translated.error().where;
    EXPECT_EQ(translated.error().found, c.pattern);
  }
}

TEST(Regex, SaysWhereAPatternDoesNotCompile) {
  const auto regex = pcre2_regex_engine().compile("a(b");
  ASSERT_FALSE(regex.has_value());
  EXPECT_EQ(regex.error().kind, ErrorKind::kUser);
  EXPECT_NE(regex.error().message.find("parenthesis"), std::string::npos);
  EXPECT_TRUE(regex.error().where.starts_with("byte 3")) << regex.error().where;
  EXPECT_FALSE(pcre2_regex_engine().compile("\\p{NoSuchThing}").has_value());
}

}  // namespace
}  // namespace tapml::tokenizer
