#include "tir/queries.h"

#include <gtest/gtest.h>

namespace tapml::tir {
namespace {

TEST(TirQueriesTest, ReadsLooksIntoIndices) {
  const Buffer x = make_buffer("x", DType::kF32, {4}), at = make_buffer("at", DType::kI64, {4}),
               other = make_buffer("x", DType::kF32, {4});
  const Var i = make_var("i");
  const PrimExpr gathered = load(x, {load(at, {i}) + 1});
  EXPECT_TRUE(is_load_of(gathered, x));
  EXPECT_FALSE(is_load_of(gathered, at));
  EXPECT_FALSE(is_load_of(gathered, other));
  EXPECT_FALSE(is_load_of(gathered + make_float(1, DType::kF32), x));
  EXPECT_TRUE(reads(gathered + make_float(1, DType::kF32), x));
  EXPECT_TRUE(reads(gathered, at));
  EXPECT_FALSE(reads(gathered, other));
  EXPECT_TRUE(has_load(gathered));
  EXPECT_TRUE(uses(gathered, i));
  EXPECT_FALSE(has_load(i + 1));
}

}  // namespace
}  // namespace tapml::tir
