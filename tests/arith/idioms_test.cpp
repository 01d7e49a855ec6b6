// Index arithmetic that legalization, fusion, schedules and memory planning produce.
#include <gtest/gtest.h>

#include "arith/analyzer.h"

namespace tapml::arith {
namespace {

class Idioms : public testing::Test {
 protected:
  Var n = make_var("n"), m = make_var("m"), h = make_var("h"), f = make_var("f");
  Var i = make_var("i"), j = make_var("j"), k = make_var("k");
  Analyzer a;

  void SetUp() override {
    for (const Var& v : {n, m, h}) a.bind(v, 0, {});
  }
  std::string text(const PrimExpr& e) { return to_string(a.simplify(e)); }
};

TEST_F(Idioms, FusedLoopOfTwoAxes) {
  a.bind_range(f, n * m);
  PrimExpr row = floordiv(f, m), column = floormod(f, m);
  EXPECT_TRUE(a.prove_less(row, n));
  EXPECT_TRUE(a.prove_less_equal(0, row));
  EXPECT_TRUE(a.prove_less(column, m));
  EXPECT_EQ(text(row * m + column), "f");
  EXPECT_TRUE(a.prove_less(row * m + column, n * m));
}

TEST_F(Idioms, FusedLoopOfThreeAxes) {
  a.bind_range(f, n * h * m);
  PrimExpr x = floordiv(f, h * m), y = floormod(floordiv(f, m), h), z = floormod(f, m);
  EXPECT_EQ(text((x * h + y) * m + z), "f");
  EXPECT_TRUE(a.prove_less(x, n));
  EXPECT_TRUE(a.prove_less(y, h));
  EXPECT_EQ(text(floordiv(f, n * h * m)), "0");
  EXPECT_EQ(text(floormod(f, n * h * m)), "f");
}

TEST_F(Idioms, ReshapeThroughAFlatOffset) {
  a.bind_range(i, n);
  a.bind(j, 0, 3);
  a.bind(k, 0, 15);
  PrimExpr flat = (i * 4 + j) * 16 + k;
  EXPECT_EQ(text(floordiv(flat, 64)), "i");
  EXPECT_EQ(text(floormod(floordiv(flat, 16), 4)), "j");
  EXPECT_EQ(text(floormod(flat, 16)), "k");
  EXPECT_EQ(text(floormod(flat, 64)), "j*16 + k");
  EXPECT_EQ(text(floordiv(floormod(flat, 64), 16)), "j");
  EXPECT_EQ(text(floordiv(flat, 128)), "i//2");
}

TEST_F(Idioms, PagedCache) {
  Var pages = make_var("pages"), length = make_var("length"), pos = make_var("pos");
  a.bind(pages, 0, {});
  a.bind(length, 0, {});
  a.assume(le(length, pages * 16));
  a.bind_range(pos, length);
  EXPECT_TRUE(a.prove_less(floordiv(pos, 16), pages));
  EXPECT_EQ(text(floordiv(pos, 16) * 16 + floormod(pos, 16)), "pos");
  EXPECT_EQ(a.bounds(floormod(pos, 16)), (Interval{0, 15}));
}

TEST_F(Idioms, GuardedTail) {
  Var block = make_var("block"), lane = make_var("lane");
  a.bind_range(block, floordiv(n + 255, 256));
  a.bind(lane, 0, 255);
  PrimExpr index = block * 256 + lane;
  EXPECT_FALSE(a.prove_less(index, n));
  a.assume(lt(index, n));
  EXPECT_TRUE(a.prove_less(index, n));
  EXPECT_EQ(text(select(lt(index, n), index, PrimExpr(0))), "block*256 + lane");
}

TEST_F(Idioms, TailFreeWhenDivisible) {
  a.bind_range(i, floordiv(n * 8 + 3, 4));
  EXPECT_EQ(text(floordiv(n * 8 + 3, 4)), "n*2");
  a.bind(j, 0, 3);
  EXPECT_EQ(text(lt(i * 4 + j, n * 8)), "1");
}

TEST_F(Idioms, ConcatBranches) {
  a.bind_range(i, n + m);
  PrimExpr inside = select(lt(i, n), PrimExpr(0), select(le(0, i - n), PrimExpr(1), PrimExpr(2)));
  EXPECT_EQ(text(inside), "select(i < n, 0, 1)");
  Analyzer second = a;
  second.assume(logical_not(lt(i, n)));
  EXPECT_TRUE(second.prove_less(i - n, m));
  EXPECT_TRUE(second.prove_less_equal(0, i - n));
}

TEST_F(Idioms, BufferSizes) {
  EXPECT_TRUE(a.prove_equal(n * 64 * 4, PrimExpr(256) * n));
  EXPECT_TRUE(a.prove_less_equal(n * 4, n * 8));
  EXPECT_TRUE(a.prove_less_equal(n * m * 4, floordiv(n * m * 4 + 255, 256) * 256));
  EXPECT_FALSE(a.prove_less_equal(n * 8, m * 8));
  EXPECT_TRUE(a.prove_divisible(floordiv(n + 3, 4) * 16, 16));
  a.bind(n, 0, 128);
  EXPECT_EQ(a.upper_bound(n * 64 * 4), 32768);
  EXPECT_EQ(a.upper_bound(n * m), std::nullopt);
  EXPECT_EQ(a.upper_bound(floordiv(n + 3, 4) * 16), 512);
}

TEST_F(Idioms, CausalWindow) {
  Var query = make_var("query"), key = make_var("key"), past = make_var("past");
  a.bind(past, 0, {});
  a.bind_range(query, n);
  a.bind_range(key, past + query + 1);
  EXPECT_TRUE(a.prove_less(key, past + n));
  EXPECT_FALSE(a.prove_less(key, past + query));
}

TEST_F(Idioms, GroupedHeads) {
  a.bind(i, 0, 7);
  EXPECT_EQ(a.bounds(floordiv(i, 4)), (Interval{0, 1}));
  EXPECT_EQ(text(floordiv(j * 4 + floormod(i, 4), 4)), "j");
  EXPECT_TRUE(a.prove_less(floordiv(i, 4) * 4 + floormod(i, 4), 8));
}

}  // namespace
}  // namespace tapml::arith
