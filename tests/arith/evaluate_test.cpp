#include "arith/evaluate.h"

#include <gtest/gtest.h>

#include "arith/scalar_program.h"
#include "ir/exceptions.h"
#include "random_expr.h"

namespace tapml::arith {
namespace {

TEST(Evaluate, Values) {
  Var n = make_var("n"), q = make_var("q", DType::kI32);
  Values values{{n.get(), -7}, {q.get(), 1 << 30}};
  EXPECT_EQ(evaluate(floordiv(n, 2), values), -4);
  EXPECT_EQ(evaluate(floormod(n, 4), values), 1);
  EXPECT_EQ(evaluate(min(n, 3) * max(n, 2), values), -14);
  EXPECT_EQ(evaluate(lt(n, 0), values), 1);
  EXPECT_EQ(evaluate(select(lt(n, 0), PrimExpr(1), floordiv(n, n + 7)), values), 1);
  EXPECT_EQ(evaluate(let(make_var("t"), n, n), values), -7);
}

TEST(Evaluate, NoValue) {
  Var n = make_var("n"), q = make_var("q", DType::kI32);
  Values values{{n.get(), 0}, {q.get(), 1 << 30}};
  EXPECT_EQ(evaluate(floordiv(5, n), values), std::nullopt);
  EXPECT_EQ(evaluate(make_var("absent"), values), std::nullopt);
  EXPECT_EQ(evaluate(q + q, values), std::nullopt);
  EXPECT_EQ(evaluate(cast(DType::kI64, q) + cast(DType::kI64, q), values), int64_t{1} << 31);
  EXPECT_EQ(evaluate(cast(DType::kI8, q), values), std::nullopt);
  EXPECT_EQ(evaluate(make_float(1, DType::kF32), values), std::nullopt);
  EXPECT_EQ(evaluate(logical_and(ne(n, 0), lt(floordiv(5, n), 3)), values), 0);
}

TEST(Evaluate, UnsignedWraps) {
  PrimExpr a = make_int(250, DType::kU8), b = make_int(10, DType::kU8);
  EXPECT_EQ(evaluate(make_binary(ExprKind::kAdd, a, b), {}), 4);
  EXPECT_EQ(evaluate(make_binary(ExprKind::kSub, b, a), {}), 16);
}

TEST(ScalarProgram, Code) {
  Var n = make_var("n"), m = make_var("m");
  std::vector<Var> slots{m, n};
  ScalarProgram program = compile_scalar(n * 4 + floordiv(m, 2), slots);
  ScalarProgram expected{{{ScalarOp::kSlot, 1},
                          {ScalarOp::kConst, 4},
                          {ScalarOp::kMul, 0},
                          {ScalarOp::kSlot, 0},
                          {ScalarOp::kConst, 2},
                          {ScalarOp::kFloorDiv, 0},
                          {ScalarOp::kAdd, 0}}};
  EXPECT_EQ(program, expected);
}

TEST(ScalarProgram, AgreesWithEvaluate) {
  Var n = make_var("n"), m = make_var("m");
  std::vector<Var> slots{n, m};
  PrimExpr e = max(floormod(n * 3 - 7, m + 1), min(n, m)) + cast(DType::kI64, cast(DType::kI32, n));
  ScalarProgram program = compile_scalar(e, slots);
  for (int64_t x = -6; x < 6; ++x) {
    for (int64_t y = -6; y < 6; ++y) {
      auto expected = evaluate(e, {{n.get(), x}, {m.get(), y}});
      auto value = tapml::evaluate(program, std::vector<int64_t>{x, y});
      ASSERT_EQ(value.has_value(), expected.has_value()) << x << " " << y;
      if (value) {
        ASSERT_EQ(*value, *expected) << x << " " << y;
      }
    }
  }
}

TEST(ScalarProgram, TruthValues) {
  Var n = make_var("n"), m = make_var("m");
  std::vector<Var> slots{n, m};
  auto value = [&](const PrimExpr& e, int64_t a, int64_t b) {
    std::vector<int64_t> values{a, b};
    return *evaluate(compile_scalar(e, slots), values);
  };
  EXPECT_EQ(value(lt(n, m), 1, 2), 1);
  EXPECT_EQ(value(lt(n, m), 2, 2), 0);
  EXPECT_EQ(value(le(n, m), 2, 2), 1);
  EXPECT_EQ(value(le(n, m), 3, 2), 0);
  EXPECT_EQ(value(eq(n, m), 2, 2), 1);
  EXPECT_EQ(value(ne(n, m), 2, 2), 0);
  EXPECT_EQ(value(logical_and(lt(n, m), ne(n, 0)), 1, 2), 1);
  EXPECT_EQ(value(logical_or(lt(n, m), eq(n, 7)), 7, 2), 1);
  EXPECT_EQ(value(logical_not(lt(n, m)), 1, 2), 0);
  EXPECT_EQ(value(select(lt(n, 3), n, m), 2, 9), 2);
  EXPECT_EQ(value(select(lt(n, 3), n, m), 4, 9), 9);
}

TEST(ScalarProgram, Refuses) {
  Var n = make_var("n");
  std::vector<Var> none;
  EXPECT_THROW(compile_scalar(n + 1, none), CompilerException);
  try {
    compile_scalar(n + 1, none);
  } catch (const CompilerException& e) {
    EXPECT_NE(std::string(e.what()).find("the variable n has no slot"), std::string::npos);
  }
  std::vector<Var> slots{n};
  EXPECT_THROW(compile_scalar(make_call("popcount", DType::kI64, {n}), slots), CompilerException);
  EXPECT_THROW(compile_scalar(make_float(1, DType::kF32), slots), CompilerException);
}

}  // namespace
}  // namespace tapml::arith
