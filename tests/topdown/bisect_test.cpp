#include "topdown/localize/bisect.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/rng.h"

namespace tapml::topdown {
namespace {

using Sets = std::vector<std::vector<size_t>>;

// A test fails if it contains one of `sets` completely.
Bisection search(size_t count, const Sets& sets) {
  return minimal_wrong_sets(count, [&](const std::vector<size_t>& parts) {
    EXPECT_TRUE(std::ranges::is_sorted(parts));
    return std::ranges::any_of(sets,
                               [&](const auto& set) { return std::ranges::includes(parts, set); });
  });
}

TEST(Bisect, NothingWrongIsOneTest) {
  const Bisection none = search(100, {});
  EXPECT_TRUE(none.sets.empty());
  EXPECT_EQ(none.tests, 1);
  EXPECT_EQ(search(0, {}).tests, 0);
}

TEST(Bisect, OneOfManyInLogarithmicallyManyTests) {
  for (size_t wrong : {0u, 1u, 500u, 1023u}) {
    const Bisection one = search(1024, {{wrong}});
    EXPECT_EQ(one.sets, (Sets{{wrong}}));
    EXPECT_LE(one.tests, 2 * 10 + 3) << wrong;
  }
}

TEST(Bisect, PairsThatOnlyFailTogether) {
  EXPECT_EQ(search(28, {{3, 20}}).sets, (Sets{{3, 20}}));
  EXPECT_EQ(search(28, {{0, 1, 27}}).sets, (Sets{{0, 1, 27}}));
}

TEST(Bisect, FindsAllOfSeveral) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    RandomStream random(seed, "bisect");
    std::set<size_t> wrong;
    const int64_t count = random.between(1, 60);
    const int64_t bugs = random.between(0, std::min<int64_t>(count, 11));
    for (int64_t i = 0; i < bugs; ++i) {
      wrong.insert(static_cast<size_t>(random.between(0, count - 1)));
    }
    Sets sets;
    for (size_t one : wrong) sets.push_back({one});
    Sets found = search(static_cast<size_t>(count), sets).sets;
    std::ranges::sort(found);
    EXPECT_EQ(found, sets) << "seed " << seed;
  }
}

// Part 5 is wrong, part 0 hides it, and part 6 prevents part 0 from doing so.
TEST(Bisect, APartThatOnlyUndoesAnotherIsNotNamed) {
  const auto wrong = [](const std::vector<size_t>& parts) {
    auto has = [&](size_t part) { return std::ranges::count(parts, part) == 1; };
    return has(5) && (!has(0) || has(6));
  };
  EXPECT_EQ(minimal_wrong_sets(8, wrong).sets, (Sets{{5}}));
}

// Part 1 is wrong while state of an earlier test remains; alone and repeated it is right.
TEST(Bisect, AnUnconfirmedFindingIsDroppedBesideAConfirmedOne) {
  int tests = 0;
  const auto wrong = [&](const std::vector<size_t>& parts) {
    ++tests;
    return std::ranges::count(parts, 5) == 1 || (std::ranges::count(parts, 1) == 1 && tests <= 5);
  };
  EXPECT_EQ(minimal_wrong_sets(8, wrong).sets, (Sets{{5}}));
  // If it is the only finding, it is reported.
  tests = 0;
  const auto flaky = [&](const std::vector<size_t>& parts) {
    return std::ranges::count(parts, 1) == 1 && ++tests <= 4;
  };
  EXPECT_EQ(minimal_wrong_sets(8, flaky).sets, (Sets{{1}}));
}

}  // namespace
}  // namespace tapml::topdown
