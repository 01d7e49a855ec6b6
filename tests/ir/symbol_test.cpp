#include "ir/symbol.h"

#include <gtest/gtest.h>

namespace tapml {
namespace {

TEST(Symbol, PrintsItsLeastValue) {
  EXPECT_EQ(least_value(make_var("k")), std::nullopt);
  EXPECT_EQ(least_value(make_size("n")), 0);
  EXPECT_EQ(least_value(make_size("n", -3)), -3);
  EXPECT_EQ(least_value(fresh_symbol(make_size("n", 2))), 2);
  EXPECT_EQ(least_value(fresh_symbol(make_var("k"))), std::nullopt);
  Var later = make_var("m");
  state_least_value(later, 1);
  EXPECT_EQ(least_value(later), 1);
}

TEST(Symbol, DimensionsPrintTheLeastValue) {
  Var n = make_var("n"), m = make_var("m");
  auto least = [&](const PrimExpr& dim) -> std::optional<int64_t> {
    auto found = least_of_dimension(dim);
    if (!found) return std::nullopt;
    EXPECT_TRUE(found->var.same_as(n));
    return found->least;
  };
  EXPECT_EQ(least(n), 0);
  EXPECT_EQ(least(n - 3), 3);
  EXPECT_EQ(least(n + 3), -3);
  EXPECT_EQ(least(n * 4 + 1), 0) << "-1/4 rounded up";
  EXPECT_EQ(least(n * 4 - 1), 1);
  EXPECT_EQ(least((n - 2) * 3 + n), 2) << "n*4 >= 6";
  EXPECT_EQ(least(n * 2 - n), 0);
  EXPECT_EQ(least(PrimExpr(7)), std::nullopt);
  EXPECT_EQ(least(10 - n), std::nullopt);
  EXPECT_EQ(least(n - n), std::nullopt);
  EXPECT_EQ(least(n + m), std::nullopt);
  EXPECT_EQ(least(n * n), std::nullopt);
  EXPECT_EQ(least(floordiv(n, 2)), std::nullopt);
  EXPECT_EQ(least(n * INT64_MAX + INT64_MAX), -1);
  EXPECT_EQ(least((n * INT64_MAX) * 2), std::nullopt);
  EXPECT_EQ(least(n + PrimExpr(INT64_MIN)), std::nullopt);
}

}  // namespace
}  // namespace tapml
