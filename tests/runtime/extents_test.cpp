#include "runtime/extents.h"

#include <gtest/gtest.h>

namespace tapml::test {
namespace {

using runtime::Extents;

TEST(Extents, HoldAnyRank) {
  for (size_t rank : {0, 1, 5, 6, 7, 20}) {
    Shape dims(rank);
    for (size_t i = 0; i < rank; ++i) dims[i] = static_cast<int64_t>(i) + 2;
    Extents extents = dims;
    EXPECT_EQ(extents.size(), rank);
    EXPECT_EQ(extents.empty(), rank == 0);
    EXPECT_EQ(extents, dims);
    EXPECT_EQ(Shape(extents), dims);
  }
  EXPECT_EQ(element_count(Extents{2, 3, 4}), 24);
}

TEST(Extents, CopyMoveAndChangeBetweenInlineAndHeap) {
  Extents few = {2, 3}, many = {1, 2, 3, 4, 5, 6, 7, 8};
  Extents copy = many;
  copy[7] = 9;
  EXPECT_EQ(many[7], 8);
  EXPECT_EQ(copy[7], 9);
  Extents moved = std::move(copy);
  EXPECT_EQ(moved, (Shape{1, 2, 3, 4, 5, 6, 7, 9}));
  moved = few;
  EXPECT_EQ(moved, (Shape{2, 3}));
  moved = many;
  EXPECT_EQ(moved, many);
  moved = std::move(many);
  EXPECT_EQ(moved.size(), 8u);
  const Extents& same = moved;
  moved = same;
  EXPECT_EQ(moved[0], 1);
  moved.reset(1);
  moved[0] = 5;
  EXPECT_EQ(moved, Shape{5});
  EXPECT_NE(moved, few);
  moved = Extents();
  EXPECT_TRUE(moved.empty());
}

}  // namespace
}  // namespace tapml::test
