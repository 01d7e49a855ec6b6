#include "base/line_diff.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace tapml {
namespace {

using TextLines = std::vector<std::string_view>;

// Applies the changes to `before`, and checks their positions in `after`.
TextLines changed_lines(const TextLines& before, const TextLines& after,
                        const std::vector<LineChange>& changes) {
  TextLines result;
  size_t i = 0;
  for (const LineChange& change : changes) {
    EXPECT_LE(i, change.old_begin);
    while (i < change.old_begin) result.push_back(before[i++]);
    EXPECT_EQ(result.size(), change.new_begin);
    for (size_t j = change.new_begin; j < change.new_end; ++j) result.push_back(after[j]);
    i = change.old_end;
  }
  while (i < before.size()) result.push_back(before[i++]);
  return result;
}

size_t edits_of(const std::vector<LineChange>& changes) {
  size_t edits = 0;
  for (const LineChange& c : changes) edits += c.old_end - c.old_begin + c.new_end - c.new_begin;
  return edits;
}

TEST(LineDiff, ReportsChangedLines) {
  const TextLines before = split_lines("a\nb\nc\nd\ne\n");
  EXPECT_TRUE(diff_lines(before, before).empty());
  EXPECT_EQ(diff_lines(before, split_lines("a\nX\nc\ne\nf\n")),
            (std::vector<LineChange>{{1, 2, 1, 2}, {3, 4, 3, 3}, {5, 5, 4, 5}}));
  EXPECT_EQ(diff_lines({}, before), (std::vector<LineChange>{{0, 0, 0, 5}}));
  EXPECT_EQ(diff_lines(before, {}), (std::vector<LineChange>{{0, 5, 0, 0}}));
}

TEST(LineDiff, AMovedBlockIsOneDeletionAndOneInsertion) {
  EXPECT_EQ(diff_lines(split_lines("a\nb\nc\nd\ne\n"), split_lines("c\nd\ne\na\nb\n")),
            (std::vector<LineChange>{{0, 2, 0, 0}, {5, 5, 3, 5}}));
}

// Few letters, so that most lines occur several times.
TEST(LineDiff, ChangesTurnTheFirstTextIntoTheSecond) {
  RandomStream random(7, "line diff");
  static constexpr std::string_view kLetters[] = {"a", "b", "c", "d", "e", "f"};
  for (int round = 0; round < 3000; ++round) {
    const int64_t letters = random.between(1, 6);
    auto lines = [&] {
      TextLines some(static_cast<size_t>(random.between(0, 14)));
      for (std::string_view& line : some) {
        line = kLetters[static_cast<size_t>(random.between(0, letters - 1))];
      }
      return some;
    };
    const TextLines before = lines(), after = lines();
    const std::vector<LineChange> changes = diff_lines(before, after);
    ASSERT_EQ(changed_lines(before, after, changes), after) << "round " << round;
    for (size_t c = 1; c < changes.size(); ++c) {
      EXPECT_LT(changes[c - 1].old_end, changes[c].old_begin) << "changes that touch are one";
    }
  }
}

// Every line occurs twice, so that only Myers' search runs, and it finds a shortest script.
TEST(LineDiff, IsShortestWithoutUniqueLines) {
  const TextLines before = split_lines("a\nb\nc\na\nb\nb\na\n"),
                  after = split_lines("c\nb\na\nb\na\nc\n");
  const std::vector<LineChange> changes = diff_lines(before, after);
  EXPECT_EQ(changed_lines(before, after, changes), after);
  EXPECT_EQ(edits_of(changes), 5u) << "the example of the paper";
}

// Quadratic time or memory would be noticeable: 100,000 lines, half of them new.
TEST(LineDiff, LongTexts) {
  std::vector<std::string> store;
  store.reserve(250000);
  TextLines before, after;
  for (int i = 0; i < 100000; ++i) {
    store.push_back("line " + std::to_string(i));
    before.push_back(store.back());
    after.push_back(before.back());
    if (i % 2 == 0) {
      store.push_back("new " + std::to_string(i));
      after.back() = store.back();
    }
  }
  EXPECT_EQ(edits_of(diff_lines(before, after)), 100000u);
  // The same few lines in another order: the search gives up, and the result is still correct.
  RandomStream random(3, "long");
  TextLines some(60000), other(60000);
  for (TextLines* lines : {&some, &other}) {
    for (std::string_view& line : *lines) line = before[static_cast<size_t>(random.between(0, 40))];
  }
  EXPECT_EQ(changed_lines(some, other, diff_lines(some, other)), other);
}

TEST(UnifiedDiff, HasHunksWithContext) {
  EXPECT_EQ(unified_diff("a\nb\n", "a\nb\n", "x", "y"), "");
  EXPECT_EQ(unified_diff("a\nb\nc\nd\ne\nf\ng\n", "a\nb\nc\nX\ne\nf\ng\nh\n", "x", "y", 1),
            "--- x\n+++ y\n"
            "@@ -3,3 +3,3 @@\n c\n-d\n+X\n e\n"
            "@@ -7 +7,2 @@\n g\n+h\n");
  // Adjacent contexts form one hunk.
  EXPECT_EQ(unified_diff("a\nb\nc\nd\n", "X\nb\nc\nY\n", "x", "y", 1),
            "--- x\n+++ y\n@@ -1,4 +1,4 @@\n-a\n+X\n b\n c\n-d\n+Y\n");
  EXPECT_EQ(unified_diff("", "a\n", "x", "y"), "--- x\n+++ y\n@@ -0,0 +1 @@\n+a\n");
}

}  // namespace
}  // namespace tapml
