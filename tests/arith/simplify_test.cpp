#include <gtest/gtest.h>

#include "arith/analyzer.h"

namespace tapml::arith {
namespace {

class Simplify : public testing::Test {
 protected:
  Var n = make_var("n"), m = make_var("m"), h = make_var("h"), b = make_var("b");
  Var i = make_var("i"), j = make_var("j"), k = make_var("k"), x = make_var("x"), y = make_var("y");
  Analyzer a;

  void SetUp() override {
    for (const Var& v : {n, m, h, b}) a.bind(v, 0, {});
  }
  std::string text(const PrimExpr& e) {
    PrimExpr once = a.simplify(e);
    PrimExpr twice = a.simplify(once);
    EXPECT_TRUE(same_expr(once, twice)) << to_string(once) << " then " << to_string(twice);
    return to_string(once);
  }
};

TEST_F(Simplify, SumsOfProducts) {
  EXPECT_EQ(text(PrimExpr(4) * n + 1), "n*4 + 1");
  EXPECT_EQ(text((n + 1) * 2), "n*2 + 2");
  EXPECT_EQ(text(n * h * b), "b*h*n");
  EXPECT_EQ(text(h * (b * n)), "b*h*n");
  EXPECT_EQ(text(PrimExpr(3) - n), "3 - n");
  EXPECT_EQ(text(m - n + 4), "m - n + 4");
  EXPECT_EQ(text(n - n), "0");
  EXPECT_EQ(text(PrimExpr(0) - n), "n*-1");
  EXPECT_EQ(text(n - 5), "n - 5");
  EXPECT_EQ(text((i * 8 + j) * 8 + k), "i*64 + j*8 + k");
  EXPECT_EQ(text((n + m) * (n - m)), "n*n - m*m");
  EXPECT_EQ(text((b * n + i) * h), "b*h*n + h*i");
}

TEST_F(Simplify, KeepsTheNodeWhenNothingChanges) {
  PrimExpr e = n * 4 + 1;
  EXPECT_TRUE(a.simplify(e).same_as(e));
}

TEST_F(Simplify, OverflowStaysUnfolded) {
  PrimExpr big = make_int(INT64_MAX);
  PrimExpr e = make_binary(ExprKind::kAdd, big, make_int(1));
  EXPECT_TRUE(same_expr(a.simplify(e), e));
  PrimExpr product = n * big * big;
  EXPECT_EQ(text(product), "n*9223372036854775807*9223372036854775807");
  Var q = make_var("q", DType::kI32);
  PrimExpr narrow = q * 65536 * 65536;
  EXPECT_EQ(text(narrow), "q*65536*65536");
}

TEST_F(Simplify, DivisionByConstants) {
  a.bind(j, 0, 3);
  EXPECT_EQ(text(floordiv(i * 4 + j, 4)), "i");
  EXPECT_EQ(text(floormod(i * 4 + j, 4)), "j");
  EXPECT_EQ(text(floordiv(floordiv(x, 3), 4)), "x//12");
  EXPECT_EQ(text(floordiv(floordiv(x, 3) + 2, 4)), "(x + 6)//12");
  EXPECT_EQ(text(floordiv(floormod(x, 4), 4)), "0");
  EXPECT_EQ(text(floordiv(x, 4) * 4 + floormod(x, 4)), "x");
  EXPECT_EQ(text(floormod(x * 8 + 4, 4)), "0");
  EXPECT_EQ(text(floormod(x * 8 + 6, 4)), "2");
  EXPECT_EQ(text(floordiv(x * 8 + j, 16)), "x//2");
  EXPECT_EQ(text(floormod(x * 8 + j, 16)), "x%2*8 + j");
  EXPECT_EQ(text(floordiv(x * 6, 4)), "x + x//2");
  EXPECT_EQ(text(floordiv(x + 5, 4)), "(x + 1)//4 + 1");
  EXPECT_EQ(text(floordiv(x, -4)), "(x + 3)//4*-1");
  EXPECT_EQ(text(PrimExpr(0) - floordiv(PrimExpr(0) - n, 4)), "(n + 3)//4");
  EXPECT_EQ(text(PrimExpr(0) - floordiv(PrimExpr(0) - x, n)), "(x - 1)//n + 1");
  EXPECT_EQ(text(floormod(PrimExpr(0) - x, 4)), "3 - (x + 3)%4");
  EXPECT_EQ(text(floormod(floormod(x, 12), 4)), "x%4");
  EXPECT_EQ(text(floordiv(floormod(x, 12), 4)), "x//4%3");
  EXPECT_EQ(text(x - floordiv(x, 4) * 4), "x%4");
  EXPECT_EQ(text(floordiv(x + y, 4) * 4 + floormod(x + y, 4)), "x + y");
  EXPECT_EQ(text(floordiv(x * 5, 4) * 4 + floormod(x * 5, 4)), "x*5");
}

TEST_F(Simplify, DivisionBySymbols) {
  a.bind_range(j, n);
  a.bind_range(i, m);
  EXPECT_EQ(text(floordiv(i * n + j, n)), "i");
  EXPECT_EQ(text(floormod(i * n + j, n)), "j");
  EXPECT_EQ(text(floordiv(j, n)), "0");
  EXPECT_EQ(text(floordiv(i * n * 4 + j, n * 4)), "i");
  EXPECT_EQ(text(floordiv((x * m + i) * n + j, n * m)), "x");
  EXPECT_EQ(text(floormod((x * m + i) * n + j, n * m)), "i*n + j");
  EXPECT_EQ(text(floormod(floordiv((x * m + i) * n + j, n), m)), "i");
  EXPECT_EQ(text(floordiv(n * x, n)), "x");
  EXPECT_EQ(text(floordiv(n * x, n * 4)), "x//4");
  EXPECT_EQ(text(floordiv(x, n) * n + floormod(x, n)), "x");
  EXPECT_EQ(text(floordiv((n + 1) * x, n + 1)), "x");
  Var t = make_var("t");
  a.bind_range(t, n + 1);
  EXPECT_EQ(text(floordiv((n + 1) * x + t, n + 1)), "x");
  EXPECT_EQ(text(floormod((n + 1) * x + t, n + 1)), "t");
  EXPECT_EQ(text(floordiv(i * n - 1 - j, n)), "i - 1");
}

// Splits and fuses an index through a flat offset, as reshape does.
TEST_F(Simplify, IndexFusion) {
  Var l = make_var("l");
  a.bind_range(l, n * 64);
  PrimExpr row = floordiv(l, 64), column = floormod(l, 64);
  EXPECT_EQ(text(row * 64 + column), "l");
  PrimExpr head = floordiv(column, 16), lane = floormod(column, 16);
  EXPECT_EQ(text(row * 64 + head * 16 + lane), "l");
  EXPECT_EQ(text(floordiv(row * 64 + head * 16 + lane, 16)), "l//16");
  EXPECT_TRUE(a.prove(lt(row, n)));
  a.bind(j, 0, 15);
  a.bind(k, 0, 3);
  EXPECT_EQ(text(floordiv(floormod((i * 4 + k) * 16 + j, 64), 16)), "k");
}

TEST_F(Simplify, MinMax) {
  EXPECT_EQ(text(min(n, n + 1)), "n");
  EXPECT_EQ(text(max(n, n + 1)), "n + 1");
  EXPECT_EQ(text(max(n, 0)), "n");
  EXPECT_EQ(text(min(min(n, 4), 8)), "min(n, 4)");
  EXPECT_EQ(text(min(4, n)), "min(n, 4)");
  EXPECT_EQ(text(min(i * 4 + 4, i * 4 + m)), "i*4 + min(m, 4)");
  EXPECT_EQ(text(min(n * 4, m * 4)), "min(m, n)*4");
  EXPECT_EQ(text(max(max(x, y), min(x, y))), "max(x, y)");
  EXPECT_EQ(text(min(min(x + n, x + m), y)), text(min(y, min(x + m, x + n))));
}

TEST_F(Simplify, Comparisons) {
  a.bind_range(i, n);
  EXPECT_EQ(text(lt(i, n)), "1");
  EXPECT_EQ(text(lt(i, 0)), "0");
  EXPECT_EQ(text(le(n, i)), "0");
  EXPECT_EQ(text(lt(x, y + 1)), "x <= y");
  EXPECT_EQ(text(lt(x * 4, 10)), "x < 3");
  EXPECT_EQ(text(lt(i * 4 + j, x)), "i*4 + j < x");
  EXPECT_EQ(text(eq(x * 4, y * 4)), "x == y");
  EXPECT_EQ(text(eq(x * 4, y * 4 + 2)), "0");
  EXPECT_EQ(text(ne(x, 3)), "x != 3");
  EXPECT_EQ(text(eq(PrimExpr(3), x)), "x == 3");
  EXPECT_EQ(text(logical_not(lt(x, y))), "y <= x");
  EXPECT_EQ(text(logical_and(lt(x, y), lt(x, y + 1))), "x < y");
  EXPECT_EQ(text(logical_or(lt(x, y), le(y, x))), "1");
}

TEST_F(Simplify, Select) {
  EXPECT_EQ(text(select(le(0, n), x, y)), "x");
  EXPECT_EQ(text(select(lt(x, 4), min(x, 4), 4)), "select(x < 4, x, 4)");
  EXPECT_EQ(text(select(lt(x, y), x + 1, PrimExpr(1) + x)), "x + 1");
  PrimExpr zero = make_float(0, DType::kF32), one = make_float(1, DType::kF32);
  EXPECT_TRUE(a.simplify(select(le(0, n), one, zero)).same_as(one));
}

TEST_F(Simplify, Casts) {
  Var q = make_var("q", DType::kI32), byte = make_var("byte", DType::kU8);
  EXPECT_EQ(text(cast(DType::kI32, cast(DType::kI64, q))), "q");
  a.bind(q, 0, 100);
  EXPECT_EQ(text(cast(DType::kI64, q * 4 + 1)), "i64(q)*4 + 1");
  EXPECT_EQ(text(floordiv(cast(DType::kI64, q * 4 + 1), 4)), "i64(q)");
  EXPECT_EQ(text(lt(cast(DType::kI64, byte), 256)), "1");
  a.bind(x, 0, 100);
  EXPECT_EQ(text(cast(DType::kI64, cast(DType::kI32, x))), "x");
  EXPECT_EQ(text(cast(DType::kI64, cast(DType::kI32, y))), "i64(i32(y))");
  EXPECT_EQ(text(cast(DType::kI32, PrimExpr(7))), "7");
}

TEST_F(Simplify, FloatsOnlyWhereExact) {
  Var f = make_var("f", DType::kF32);
  auto c = [](double v) { return make_float(v, DType::kF32); };
  auto mul = [](PrimExpr p, PrimExpr q) { return make_binary(ExprKind::kMul, p, q); };
  auto add = [](PrimExpr p, PrimExpr q) { return make_binary(ExprKind::kAdd, p, q); };
  EXPECT_TRUE(a.simplify(mul(f, c(1))).same_as(f));
  EXPECT_EQ(a.simplify(mul(c(2), c(3)))->float_value, 6);
  EXPECT_EQ(a.simplify(add(f, c(0))).kind(), ExprKind::kAdd);
  EXPECT_EQ(a.simplify(add(c(16777216), c(1))).kind(), ExprKind::kAdd);
  EXPECT_EQ(a.simplify(mul(f, c(0))).kind(), ExprKind::kMul);
  EXPECT_EQ(a.simplify(cast(DType::kF32, PrimExpr(5)))->float_value, 5);
  EXPECT_EQ(a.simplify(cast(DType::kF32, PrimExpr(16777217))).kind(), ExprKind::kCast);
}

TEST_F(Simplify, Let) {
  Var t = make_var("t");
  EXPECT_EQ(text(let(t, PrimExpr(3), t + n)), "n + 3");
  EXPECT_EQ(text(let(t, n * 4, floormod(t, 4))), "0");
}

// Unsigned arithmetic wraps, so nothing moves across a comparison.
TEST_F(Simplify, UnsignedStays) {
  Var u = make_var("u", DType::kU32), w = make_var("w", DType::kU32);
  EXPECT_EQ(text(lt(u + 1, w + 1)), "u + 1 < w + 1");
  EXPECT_EQ(text(make_binary(ExprKind::kAdd, make_int(4294967295, DType::kU32),
                             make_int(2, DType::kU32))),
            "1");
}

TEST_F(Simplify, BoundToOneValue) {
  a.bind(x, 5, 5);
  EXPECT_EQ(text(x * n + 1), "n*5 + 1");
  EXPECT_EQ(a.as_constant(x + 1), 6);
  EXPECT_EQ(a.as_constant(n), std::nullopt);
}

TEST_F(Simplify, SameNamesKeepAnOrder) {
  Var p = make_var("p"), q = make_var("p");
  PrimExpr e = a.simplify(p + q * 1);
  EXPECT_TRUE(same_expr(e, a.simplify(q + p)));
  EXPECT_EQ(text(p - q), "p - p");
}

}  // namespace
}  // namespace tapml::arith
