#include <gtest/gtest.h>

#include "arith/analyzer.h"

namespace tapml::arith {
namespace {

class Prove : public testing::Test {
 protected:
  Var n = make_var("n"), m = make_var("m"), h = make_var("h");
  Var i = make_var("i"), j = make_var("j"), k = make_var("k"), x = make_var("x"), y = make_var("y");
  Analyzer a;

  void SetUp() override {
    for (const Var& v : {n, m, h}) a.bind(v, 0, {});
  }
};

TEST_F(Prove, ProductsReorder) {
  EXPECT_TRUE(a.prove_equal(n * 4, PrimExpr(4) * n));
  EXPECT_TRUE(a.prove_equal((n + 1) * 2, n * 2 + 2));
  EXPECT_TRUE(a.prove_equal(n * m * h, h * n * m));
  EXPECT_FALSE(a.prove_equal(n * m, n * h));
  EXPECT_FALSE(a.prove_equal(n, n + 1));
  EXPECT_TRUE(a.prove(ne(n, n + 1)));
}

TEST_F(Prove, IndexInRange) {
  a.bind_range(i, m);
  a.bind_range(j, n);
  EXPECT_TRUE(a.prove_less(i * n + j, m * n));
  EXPECT_TRUE(a.prove_less_equal(0, i * n + j));
  EXPECT_FALSE(a.prove_less(i * n + j, m * n - 1));
  EXPECT_FALSE(a.prove_less(i * m + j, m * n));
  a.bind_range(k, h);
  EXPECT_TRUE(a.prove_less((i * n + j) * h + k, m * n * h));
}

TEST_F(Prove, TiledLoops) {
  PrimExpr tiles = floordiv(n + 3, 4);
  a.bind_range(i, tiles);
  EXPECT_TRUE(a.prove_less(i * 4, n + 3));
  EXPECT_TRUE(a.prove_less(i * 4, n));
  EXPECT_FALSE(a.prove_less(i * 4 + 3, n));
  a.bind_range(j, min(4, n - i * 4));
  EXPECT_TRUE(a.prove_less(i * 4 + j, n));
  EXPECT_EQ(a.upper_bound(j), 3);
  Analyzer whole = a;
  whole.assume(eq(floormod(n, 4), 0));
  EXPECT_TRUE(whole.prove_divisible(n, 4));
  EXPECT_TRUE(whole.prove_less(i * 4 + 3, n));
  EXPECT_EQ(to_string(whole.simplify(floordiv(n, 4) * 4)), "n");
  EXPECT_FALSE(a.prove_divisible(n, 4));
}

// Answers are remembered for the facts that they follow from.
TEST_F(Prove, WhatIsLearntLaterChangesAnswers) {
  Analyzer b;
  b.bind(i, 0, {});
  EXPECT_FALSE(b.prove_less(i * 4 + j, n));
  EXPECT_EQ(b.upper_bound(i * 3 + 1), std::nullopt);
  Analyzer copy = b;
  b.bind(i, 0, 7);
  EXPECT_EQ(b.upper_bound(i * 3 + 1), 22);
  b.assume(lt(i * 4 + j, n));
  EXPECT_TRUE(b.prove_less(i * 4 + j, n));
  EXPECT_FALSE(copy.prove_less(i * 4 + j, n));
  EXPECT_EQ(copy.upper_bound(i * 3 + 1), std::nullopt);
}

TEST_F(Prove, Assumptions) {
  EXPECT_FALSE(a.prove_less(i * 4 + j, n));
  Analyzer inside = a;
  inside.assume(lt(i * 4 + j, n));
  EXPECT_TRUE(inside.prove_less(i * 4 + j, n));
  EXPECT_TRUE(inside.prove_less(i * 4 + j, n + 7));
  inside.assume(le(0, i));
  EXPECT_TRUE(inside.prove_less(j, n));
  EXPECT_FALSE(a.prove_less(i * 4 + j, n));
  a.assume(logical_and(le(1, n), ne(m, 0)));
  EXPECT_TRUE(a.prove(lt(0, n * m)));
  a.assume(logical_not(lt(x, y)));
  EXPECT_TRUE(a.prove_less_equal(y, x));
  a.assume(le(n * m, h));
  EXPECT_TRUE(a.prove_less_equal(n * m * 2, h * 2 + 1));
}

TEST_F(Prove, Divisible) {
  EXPECT_TRUE(a.prove_divisible(n * 8 + 16, 4));
  EXPECT_FALSE(a.prove_divisible(n * 8 + 2, 4));
  EXPECT_TRUE(a.prove_divisible(min(n * 8, m * 12), 4));
  EXPECT_TRUE(a.prove_divisible(floormod(n * 12, m * 8), 4));
  EXPECT_TRUE(a.prove_divisible(n * 2 * (m * 2), 4));
  EXPECT_TRUE(a.prove(ne(n * 4 + 1, m * 6)));
  EXPECT_FALSE(a.prove_divisible(n, 0));
}

TEST_F(Prove, Bounds) {
  a.bind(x, -3, 5);
  EXPECT_EQ(a.bounds(x * 2 + 1), (Interval{-5, 11}));
  EXPECT_EQ(a.bounds(x * x), (Interval{0, 25}));
  EXPECT_EQ(a.bounds(floormod(x, 4)), (Interval{0, 3}));
  EXPECT_EQ(a.bounds(floordiv(x, 2)), (Interval{-2, 2}));
  EXPECT_EQ(a.bounds(n), (Interval{0, {}}));
  EXPECT_EQ(a.bounds(y), (Interval{{}, {}}));
  a.bind_range(i, n);
  EXPECT_EQ(a.bounds(n - i), (Interval{1, {}}));
  EXPECT_EQ(a.upper_bound(min(n, 16)), 16);
  EXPECT_EQ(a.bounds(min(n, 16) - n).hi, 0);
  EXPECT_EQ(a.bounds(make_var("r", DType::kI32)).hi, 2147483647);
}

TEST_F(Prove, Quotients) {
  EXPECT_TRUE(a.prove_less_equal(floordiv(n, 4) * 4, n));
  EXPECT_TRUE(a.prove_less(n, floordiv(n, 4) * 4 + 4));
  EXPECT_TRUE(a.prove_less_equal(n, floordiv(n + 15, 16) * 16));
  a.bind(m, 1, {});
  EXPECT_TRUE(a.prove_less(floormod(x, m), m));
  EXPECT_TRUE(a.prove_less_equal(floordiv(n, m) * m, n));
  EXPECT_TRUE(a.prove_less(n, floordiv(n, m) * m + m));
  EXPECT_TRUE(a.prove_less_equal(floordiv(n, m), n));
}

TEST_F(Prove, Connectives) {
  a.bind_range(i, n);
  EXPECT_TRUE(a.prove(logical_and(le(0, i), lt(i, n))));
  EXPECT_TRUE(a.prove(logical_or(lt(x, 3), le(3, x))));
  EXPECT_TRUE(a.prove(logical_not(lt(i, 0))));
  EXPECT_FALSE(a.prove(lt(x, 3)));
}

TEST_F(Prove, CopiesAreIndependent) {
  Analyzer copy = a;
  copy.bind(x, 0, 3);
  EXPECT_TRUE(copy.prove_less(x, 4));
  EXPECT_FALSE(a.prove_less(x, 4));
}

}  // namespace
}  // namespace tapml::arith
