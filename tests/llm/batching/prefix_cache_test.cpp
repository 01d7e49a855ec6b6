#include "llm/batching/prefix_cache.h"

#include <gtest/gtest.h>

namespace tapml::llm {
namespace {

std::vector<int32_t> tokens_from(int32_t first, int32_t count) {
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < count; ++i) tokens.push_back(first + i);
  return tokens;
}

TEST(PrefixCache, FindsTheLongestBeginningOfFullPages) {
  PageAllocator pages(8);
  PrefixCache cache(pages, 4);
  SequencePages text(pages, 4);
  ASSERT_TRUE(text.reserve(10));
  cache.insert(tokens_from(0, 10), text.table());
  EXPECT_EQ(cache.size(), 2) << "the third page is not full";
  EXPECT_EQ(cache.find(tokens_from(0, 10)), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(cache.find(tokens_from(0, 8)), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(cache.find(tokens_from(0, 7)), (std::vector<int32_t>{0}));
  EXPECT_TRUE(cache.find(tokens_from(1, 8)).empty());
  EXPECT_TRUE(cache.find(tokens_from(4, 4)).empty()) << "a page is found after its own text only";
  std::vector<int32_t> other = tokens_from(0, 8);
  other[5] = 99;
  EXPECT_EQ(cache.find(other), (std::vector<int32_t>{0}));
}

TEST(PrefixCache, KeepsPagesThatTheirTextGaveBack) {
  PageAllocator pages(4);
  PrefixCache cache(pages, 2);
  {
    SequencePages text(pages, 2);
    ASSERT_TRUE(text.reserve(6));
    cache.insert(tokens_from(0, 6), text.table());
    EXPECT_EQ(cache.unused(), 0);
    EXPECT_EQ(cache.release(3), 0) << "a text uses them";
  }
  EXPECT_EQ(pages.free_pages(), 1);
  EXPECT_EQ(cache.unused(), 3);
  SequencePages adopting(pages, 2);
  adopting.adopt(cache.find(tokens_from(0, 4)));
  EXPECT_EQ(cache.unused(), 1);
  EXPECT_EQ(cache.release(3), 1);
  EXPECT_EQ(pages.free_pages(), 2);
  adopting.clear();
  EXPECT_EQ(cache.release(3), 2);
  EXPECT_EQ(pages.free_pages(), 4);
  EXPECT_EQ(cache.size(), 0);
}

TEST(PrefixCache, ReleasesTheLeastRecentlyUsedFirst) {
  PageAllocator pages(4);
  PrefixCache cache(pages, 2);
  for (const int32_t first : {0, 10, 20}) {
    SequencePages text(pages, 2);
    ASSERT_TRUE(text.reserve(2));
    cache.insert(tokens_from(first, 2), text.table());
  }
  EXPECT_EQ(cache.find(tokens_from(0, 2)).size(), 1u);
  EXPECT_EQ(cache.release(2), 2);
  EXPECT_EQ(cache.find(tokens_from(0, 2)).size(), 1u);
  EXPECT_TRUE(cache.find(tokens_from(10, 2)).empty());
  EXPECT_TRUE(cache.find(tokens_from(20, 2)).empty());
}

TEST(PrefixCache, KeepsThePageThatItHasForEqualTokens) {
  PageAllocator pages(4);
  PrefixCache cache(pages, 2);
  SequencePages first(pages, 2), second(pages, 2);
  ASSERT_TRUE(first.reserve(2));
  ASSERT_TRUE(second.reserve(4));
  cache.insert(tokens_from(0, 2), first.table());
  cache.insert(tokens_from(0, 4), second.table());
  EXPECT_EQ(cache.find(tokens_from(0, 4)), (std::vector<int32_t>{0, 2}));
  EXPECT_EQ(pages.uses(0), 2);
  EXPECT_EQ(pages.uses(1), 1);
}

}  // namespace
}  // namespace tapml::llm
