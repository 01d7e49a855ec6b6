#include "llm/tokenizer/regex.h"

#include <gtest/gtest.h>

#include <string>

#include "llm/tokenizer/regex_dialect.h"
#include "llm/tokenizer/regex_pcre2.h"
#include "llm/tokenizer/unicode_properties.h"
#include "llm/tokenizer/utf8.h"

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
  EXPECT_EQ(count("x*", "axb"), 3u);           // at a, x, and the end; no empty match after x
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
  // A mark, a connector and a letter number are word characters; a fraction is one only outside
  // brackets.
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

TEST(Regex, CodePointsAreSpelledInEveryForm) {
  for (const char* l :
       {"\\x{6c}", "\\x6c", "\\x6C", "\\u006c", "[\\x{6c}]", "[\\u006C]", "[\\154]"}) {
    EXPECT_EQ(matches(l, "ll{6c}k"), "l|l") << l;
  }
  EXPECT_EQ(matches("\\x{4e00}{2}", "\u4e00\u4e00\u4e00"), "\u4e00\u4e00");
  EXPECT_EQ(matches("[\\x{61}-\\x{63}]+", "abcd"), "abc");
  EXPECT_EQ(matches("\\v", "a\x0b\n"), "\x0b");
  EXPECT_EQ(matches("\\Qa\\E", "QaE a"), "QaE");
}

// The expected results are those of the tokenizers package.
TEST(Regex, ClassesInsideOfClasses) {
  const struct {
    const char* pattern;
    const char* text;
    const char* matches;
  } kCases[] = {
      {"[a[bc]]", "abcd", "a|b|c"},
      {"[[a-c][x-z]]+", "abxyd", "abxy"},
      {"[a-z&&[^b]]", "abcB", "a|c"},
      {"[^a-z&&[^b]]", "abcB1", "b|B|1"},
      {"[a-c&&b-d&&c]", "abcd", "c"},
      {"[a&&]", "ab", ""},
      {"[&&a]", "ab", ""},
      {"[\\p{L}&&\\p{Lu}]", "aBcD", "B|D"},
      {"[\\p{L}&&[^A-Z]]+", "aBcDe", "a|c|e"},
      {"[\\p{Han}&&[^\u4e00]]", "\u4e00\u4e8c", "\u4e8c"},
      {"[\\W]", "a-b", "-"},
      {"[^\\W]", "a-b", "a|b"},
      {"[^\\W\\d]", "a-1b", "a|b"},
      {"[[:graph:]]+", "ab c", "ab|c"},
      {"[[:^alpha:]]+", "ab1 c", "1 "},
      {"\\p{Alnum}+", "ab1 c", "ab1|c"},
      {"[\\p{^L}]", "a1", "1"},
      {"[\\P{L}]", "a1", "1"},
      {"[\\d]", "a1\u0663", "1|\u0663"},
      {"[a-]", "a-b", "a|-"},
      {"[]a]", "a]b", "a|]"},
      {"(?i)[k]", "k\u212aK", "k|\u212a|K"},
      {"\\p{Hani}", "a\u4e2d", "\u4e2d"},
      {"[[^a][^b]]", "ab", "a|b"},
  };
  for (const auto& c : kCases) EXPECT_EQ(matches(c.pattern, c.text), c.matches) << c.pattern;
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += '[';
  EXPECT_NE(matches(deep + "a", "a").find("too deeply"), std::string::npos);
}

TEST(Regex, RepeatedIntervalsAreNotPossessive) {
  EXPECT_EQ(matches("a{1,3}+", "aaaaaaab"), "aaaaaaa");
  EXPECT_EQ(matches("a{1,3}+a", "aaaaaaab"), "aaaaaaa");
  EXPECT_EQ(matches("a{2}+", "aaaaab"), "aaaa");
  EXPECT_EQ(matches("(ab){1,2}+", "abababx"), "ababab");
  EXPECT_EQ(matches("(?:[^\\s\\p{L}\\p{N}]|x){1,3}+", "!!!!!a"), "!!!!!");
  EXPECT_EQ(matches("\\p{L}{1,3}+", "abcdefg hi"), "abcdefg|hi");
  EXPECT_EQ(matches("\u00e9{1,3}+", "\u00e9\u00e9\u00e9\u00e9"), "\u00e9\u00e9\u00e9\u00e9");
  EXPECT_EQ(matches("[ab]++", "aab"), "aab");
  EXPECT_EQ(matches("a{,2}*b", "aaaab b"), "aaaab|b");
  EXPECT_EQ(matches("a+{2}", "aaaa a"), "aaaa");
  EXPECT_EQ(matches("a{1,2}{2}", "aaaaa"), "aaaa");
}

TEST(Regex, PropertiesAreThoseOfUnicode16) {
  // Letters, digits, marks, symbols and a script added in Unicode 15 and 16.
  EXPECT_EQ(count("\\p{L}", "\U00010D4A\U000105C0\U00031350"), 3u);
  EXPECT_EQ(count("[^\\s\\p{L}\\p{N}]", "\U00010D4A\U000105C0 \U00010D40"), 0u);
  EXPECT_EQ(count("\\p{N}", "\U00010D40\U00011F50"), 2u);
  EXPECT_EQ(count("\\d", "\U00010D40"), 1u);
  EXPECT_EQ(count("\\w+", "\U00010D4A\u0897\U00010D40"), 1u);
  EXPECT_EQ(count("\\p{Emoji}", "\U0001FAE9"), 1u);
  EXPECT_EQ(count("\\p{Garay}", "\U00010D4A"), 1u);
  EXPECT_EQ(count("\\p{Cn}", "\U00010D4A"), 0u);
}

// Classes that are passed to PCRE2 (its own properties and new ones) have the members of our table,
// so that a newer or older library is detected.
TEST(Regex, LibraryAndTablesAgreeOnEveryCharacter) {
  std::vector<char32_t> characters;
  std::string every;
  for (char32_t c = 1; c <= 0x10FFFF; ++c) {
    // Planes without assigned characters, or for private use only, are represented by one of them.
    const bool skipped =
        (c >= 0xD800 && c <= 0xDFFF) || (c >= 0x34000 && c < 0xE0000) || c > 0xF1000;
    if (skipped) continue;
    characters.push_back(c);
    append_utf8(every, c);
  }
  for (const char* name : {"L", "M", "N", "P", "S", "Z", "Ll", "Mn", "Nd", "Cf", "Cn", "Han",
                           "Common", "Alphabetic", "Lowercase", "Emoji", "alnum"}) {
    const CodeSet members = unicode_property(name)->members;
    std::string expected;
    for (const char32_t c : characters) {
      if (members.contains(c)) append_utf8(expected, c);
    }
    std::string found;
    std::vector<Span> spans;
    ASSERT_TRUE(
        (*pcre2_regex_engine().compile("\\p{" + std::string(name) + "}+"))->find_all(every, spans));
    for (const Span& span : spans) found += every.substr(span.begin, span.end - span.begin);
    EXPECT_TRUE(found == expected) << name << " " << found.size() << " " << expected.size();
  }
}

TEST(Regex, LimitsGrowWithTheText) {
  const std::string letters(2'000'000, 'a');
  EXPECT_EQ(count("(?:\\p{L}\\p{M}*)+", letters), 1u);
  EXPECT_EQ(count("(?:a|b)+x|a+", letters), 1u);
  EXPECT_EQ(count("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{"
                  "Lo}\\p{M}]+|"
                  "[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+",
                  std::string(2'000'000, 'A')),
            1u);
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
      {"[[:vowel:]]", "the class [:vowel:]", "byte 1"},
      {"[a-\\d]", "a range that ends in a class", "byte 1"},
      {"[b-a]", "a range that runs backwards", "byte 1"},
      {"a\\x{110000}", "an invalid character code", "byte 1"},
      {"\\x{d800}", "an invalid character code", "byte 0"},
      {"[\\p{ID_Start}&&a]", "a property without a table in a nested class", "byte 0"},
      {"\\M-a", "\\M", "byte 0"},
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

TEST(Regex, ReportsWhereAPatternDoesNotCompile) {
  const auto regex = pcre2_regex_engine().compile("a(b");
  ASSERT_FALSE(regex.has_value());
  EXPECT_EQ(regex.error().kind, ErrorKind::kUser);
  EXPECT_NE(regex.error().message.find("parenthesis"), std::string::npos);
  EXPECT_TRUE(regex.error().where.starts_with("byte 3")) << regex.error().where;
  EXPECT_FALSE(pcre2_regex_engine().compile("\\p{NoSuchThing}").has_value());
}

}  // namespace
}  // namespace tapml::tokenizer
