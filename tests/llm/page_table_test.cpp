#include "llm/page_table.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/expect_error.h"

namespace tapml::llm {
namespace {

using Table = std::vector<int32_t>;

TEST(PageAllocator, HandsOutTheLowestFreePage) {
  PageAllocator allocator(3);
  EXPECT_EQ(*allocator.take(), 0);
  EXPECT_EQ(*allocator.take(), 1);
  allocator.give_back(0);
  EXPECT_EQ(allocator.free_pages(), 2);
  EXPECT_EQ(*allocator.take(), 0);
  EXPECT_EQ(*allocator.take(), 2);
  auto none = allocator.take();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::kPlatform);
  EXPECT_EQ(none.error().fault, PlatformFault::kOutOfMemory);
  testing::expect_parts(none.error(), {"all 3 pages"});
  allocator.grow(5);
  EXPECT_EQ(allocator.pages(), 5);
  EXPECT_EQ(*allocator.take(), 3);
  allocator.grow(4);
  EXPECT_EQ(allocator.pages(), 5);
  EXPECT_EQ(allocator.free_pages(), 1);
}

TEST(PageAllocator, ScattersPagesTheSameWayInEveryRun) {
  Table first, second;
  for (Table* pages : {&first, &second}) {
    PageAllocator allocator(16, true);
    EXPECT_GE(allocator.peek(), 0);
    for (int i = 0; i < 16; ++i) pages->push_back(*allocator.take());
    EXPECT_EQ(allocator.peek(), -1);
    EXPECT_FALSE(allocator.take());
  }
  EXPECT_EQ(first, second);
  // Each once, and few behind the one before.
  int in_order = 0;
  for (size_t i = 1; i < first.size(); ++i) in_order += first[i] == first[i - 1] + 1 ? 1 : 0;
  EXPECT_LE(in_order, 3);
  std::ranges::sort(first);
  for (int32_t i = 0; i < 16; ++i) EXPECT_EQ(first[static_cast<size_t>(i)], i);
}

TEST(SequencePages, GrowsByPagesAndGivesThemBack) {
  PageAllocator allocator(4);
  SequencePages pages(allocator, 16);
  EXPECT_TRUE(pages.table().empty());
  ASSERT_TRUE(pages.reserve(1));
  EXPECT_EQ(pages.table(), (Table{0}));
  ASSERT_TRUE(pages.reserve(16));
  EXPECT_EQ(pages.table(), (Table{0}));
  ASSERT_TRUE(pages.reserve(17));
  EXPECT_EQ(pages.table(), (Table{0, 1}));
  {
    SequencePages other(allocator, 16);
    ASSERT_TRUE(other.reserve(20));
    EXPECT_EQ(other.table(), (Table{2, 3}));
    EXPECT_FALSE(pages.reserve(33));
  }
  EXPECT_EQ(allocator.free_pages(), 2);
  ASSERT_TRUE(pages.reserve(64));
  EXPECT_EQ(pages.table(), (Table{0, 1, 2, 3}));
  pages.clear();
  EXPECT_EQ(allocator.free_pages(), 4);
  EXPECT_TRUE(pages.table().empty());
}

TEST(SequencePages, ShrinksToWhatIsNeeded) {
  PageAllocator allocator(4);
  SequencePages pages(allocator, 16);
  ASSERT_TRUE(pages.reserve(50));
  EXPECT_EQ(pages.table(), (Table{0, 1, 2, 3}));
  pages.shrink(33);
  EXPECT_EQ(pages.table(), (Table{0, 1, 2}));
  pages.shrink(32);
  EXPECT_EQ(pages.table(), (Table{0, 1}));
  pages.shrink(100);
  EXPECT_EQ(pages.table(), (Table{0, 1}));
  pages.shrink(1);
  EXPECT_EQ(pages.table(), (Table{0}));
  EXPECT_EQ(allocator.free_pages(), 3);
  pages.shrink(0);
  EXPECT_TRUE(pages.table().empty());
  EXPECT_EQ(allocator.free_pages(), 4);
}

TEST(SequencePages, ReleasesThePagesBeforeAToken) {
  PageAllocator allocator(5);
  SequencePages pages(allocator, 4);
  pages.release_before(0);
  ASSERT_TRUE(pages.reserve(13));
  pages.release_before(-3);
  pages.release_before(3);
  EXPECT_EQ(pages.table(), (Table{0, 1, 2, 3}));
  EXPECT_EQ(pages.first_kept(), 0);
  pages.release_before(11);
  EXPECT_EQ(pages.table(), (Table{2, 2, 2, 3})) << "released pages have the entry of the oldest";
  EXPECT_EQ(pages.first_kept(), 8);
  EXPECT_EQ(allocator.free_pages(), 3);
  // The others are taken again, and released pages are not given back twice.
  ASSERT_TRUE(pages.reserve(21));
  EXPECT_EQ(pages.table(), (Table{2, 2, 2, 3, 0, 1}));
  pages.release_before(8);
  EXPECT_EQ(pages.table(), (Table{2, 2, 2, 3, 0, 1}));
  pages.shrink(9);
  EXPECT_EQ(pages.table(), (Table{2, 2, 2}));
  EXPECT_EQ(allocator.free_pages(), 4);
  pages.clear();
  EXPECT_EQ(allocator.free_pages(), 5);
  EXPECT_EQ(pages.first_kept(), 0);
  ASSERT_TRUE(pages.reserve(20));
  EXPECT_EQ(pages.table(), (Table{0, 1, 2, 3, 4}));
}

}  // namespace
}  // namespace tapml::llm
