// Divisions of indices that may truncate, and those that must round down.
#include "codegen/lower/index_signs.h"

#include <gtest/gtest.h>

namespace tapml::codegen {
namespace {

// A launch over `extent` of a buffer with dimensions b and n; the scalar k is not a dimension.
struct Launch {
  Var b = make_var("b"), n = make_var("n"), k = make_var("k"), item = make_var("item");
  DeviceFunc function;

  explicit Launch(const std::function<PrimExpr(const Launch&)>& extent) {
    tir::Param param;
    param.buffer = tir::make_buffer("x", DType::kF32, {b, n});
    function.buffers = {param};
    function.scalars = {b, n, k};
    function.item = item;
    function.extent = extent(*this);
    function.body = tir::make_store(param.buffer, {0, 0}, make_float(0, DType::kF32));
  }
};

TEST(IndexSigns, FactorsOfTheExtentArePositiveInTheBody) {
  const Launch launch([](const Launch& l) { return l.b * l.n * 192; });
  const IndexSigns signs(launch.function);
  EXPECT_TRUE(signs.positive(launch.n));
  EXPECT_TRUE(signs.divides_plainly(floordiv(launch.item, launch.n)));
  EXPECT_TRUE(signs.divides_plainly(floormod(floordiv(launch.item, 192), launch.n * launch.b)));
  EXPECT_TRUE(signs.divides_plainly(floordiv(launch.item + 3, max(launch.n, 1))));
}

TEST(IndexSigns, DimensionsThatMayBeZeroUseFloorDivision) {
  const Launch launch([](const Launch& l) { return PrimExpr(l.b); });
  const IndexSigns signs(launch.function);
  EXPECT_TRUE(signs.nonnegative(launch.n));
  EXPECT_FALSE(signs.divides_plainly(floordiv(launch.item, launch.n)));
  EXPECT_TRUE(signs.divides_plainly(floordiv(launch.item, launch.n + 1)));
}

TEST(IndexSigns, OtherScalarsMayBeAnyNumber) {
  const Launch launch([](const Launch& l) { return l.b * l.k; });
  const IndexSigns signs(launch.function);
  EXPECT_FALSE(signs.nonnegative(launch.k));
  EXPECT_FALSE(signs.positive(launch.b)) << "both may be negative";
  EXPECT_FALSE(signs.divides_plainly(floordiv(launch.item, launch.b)));
  EXPECT_FALSE(signs.divides_plainly(floordiv(launch.item - 1, 192)));
  EXPECT_FALSE(signs.divides_plainly(floordiv(launch.item, 0)));
  EXPECT_FALSE(signs.divides_plainly(floordiv(launch.item, -3)));
}

}  // namespace
}  // namespace tapml::codegen
