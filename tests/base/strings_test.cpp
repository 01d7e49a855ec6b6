#include "base/strings.h"

#include <gtest/gtest.h>

#include <array>
#include <ranges>
#include <string>
#include <vector>

namespace tapml {
namespace {

TEST(StringsTest, QuotedEscapesAndCuts) {
  EXPECT_EQ(in_quotes("plain"), "\"plain\"");
  EXPECT_EQ(in_quotes("a\"b\\c\n\x01\x7f\xff"), "\"a\\\"b\\\\c\\n\\x01\\x7f\\xff\"");
  EXPECT_EQ(in_quotes("\u009b31m\u00a0"), "\"\\xc2\\x9b31m\u00a0\"");
  EXPECT_EQ(in_quotes("abcdef", 3), "\"abc...\"");
  EXPECT_EQ(in_quotes("abc", 3), "\"abc\"");
  // The cut leaves no partial character.
  EXPECT_EQ(in_quotes("ab\xc3\xa9", 3), "\"ab...\"");
}

TEST(StringsTest, JoinPutsTheSeparatorBetweenItems) {
  const std::vector<std::string> names = {"a", "", "c"};
  EXPECT_EQ(join(names), "a, , c");
  EXPECT_EQ(join(names, " + "), "a +  + c");
  EXPECT_EQ(join(std::vector<std::string_view>{"one"}), "one");
  EXPECT_EQ(join(std::vector<std::string>()), "");
}

TEST(StringsTest, JoinTakesATextOfEachItem) {
  const auto digits = [](int value) { return std::to_string(value); };
  EXPECT_EQ(join(std::array{1, 2, 30}, digits, "|"), "1|2|30");
  struct Named {
    std::string name;
    std::string loud() const { return name + "!"; }
  };
  const std::vector<Named> named = {{"x"}, {"y"}};
  EXPECT_EQ(join(named, &Named::name), "x, y");
  EXPECT_EQ(join(named, &Named::loud, " "), "x! y!");
  const auto is_y = [](const Named& one) { return one.name == "y"; };
  EXPECT_EQ(join(named | std::views::filter(is_y), &Named::name), "y");
}

TEST(StringsTest, Utf8SequencesAreStrict) {
  EXPECT_EQ(utf8_sequence_length("a", 0), 1u);
  EXPECT_EQ(utf8_sequence_length("\xc3\xa9", 0), 2u);
  EXPECT_EQ(utf8_sequence_length("\xe2\x82\xac", 0), 3u);
  EXPECT_EQ(utf8_sequence_length("\xf0\x9f\x98\x80", 0), 4u);
  EXPECT_EQ(utf8_sequence_length("\xf4\x8f\xbf\xbf", 0), 4u);
  for (std::string_view bad :
       {"", "\x80", "\xc0\x80", "\xc1\xbf", "\xc3", "\xc3(", "\xe0\x80\x80", "\xed\xa0\x80",
        "\xe2\x82", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff"}) {
    EXPECT_EQ(utf8_sequence_length(bad, 0), 0u) << in_quotes(bad);
  }
}

TEST(StringsTest, JoinChoices) {
  std::array<std::string_view, 3> choices = {"a", "b", "c"};
  EXPECT_EQ(join_choices(choices), "a, b or c");
  EXPECT_EQ(join_choices(std::span(choices).first(1)), "a");
}

}  // namespace
}  // namespace tapml
