#include "llm/stop_texts.h"

#include <gtest/gtest.h>

namespace tapml::llm {
namespace {

// What is given away for pieces, in brackets; "!" where the answer stops.
std::string given(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
  StopTexts stop(stops);
  std::string out;
  for (const std::string& piece : pieces) {
    out += "[" + stop.push(piece) + "]";
    if (stop.stopped()) return out + "!";
  }
  return out + "[" + stop.finish() + "]";
}

TEST(StopTexts, AreFoundAcrossPieces) {
  EXPECT_EQ(given({"END"}, {"abc", "END", "d"}), "[abc][]!");
  EXPECT_EQ(given({"END"}, {"abE", "ND"}), "[ab][]!");
  EXPECT_EQ(given({"END"}, {"abE", "N", "x"}), "[ab][][ENx][]");
  EXPECT_EQ(given({"END"}, {"EN"}), "[][EN]");
  EXPECT_EQ(given({"aab"}, {"aa", "ab"}), "[][a]!");
  EXPECT_EQ(given({"\n\n", "ü"}, {"x\n", "y\xC3\xBC"}), "[x][\ny]!");
}

TEST(StopTexts, TheFirstOneCounts) {
  EXPECT_EQ(given({"cd", "b"}, {"abcd"}), "[a]!");
  EXPECT_EQ(given({"bcd", "bc"}, {"abc"}), "[a]!");
  EXPECT_EQ(given({"xyz", "y"}, {"ax", "y"}), "[a][x]!");
}

TEST(StopTexts, EmptyOnesMeanNothing) {
  EXPECT_EQ(given({}, {"abc"}), "[abc][]");
  EXPECT_EQ(given({""}, {"abc"}), "[abc][]");
}

}  // namespace
}  // namespace tapml::llm
