#include "ir/expr.h"

#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "ir/intrinsics.h"
#include "ir/module.h"

namespace tapml {
namespace {

TEST(Expr, FoldsConstantsAndNeutralElements) {
  Var n = make_var("n");
  EXPECT_TRUE((PrimExpr(2) * 3 + 1).is_int(7));
  EXPECT_TRUE((n + 0).same_as(n));
  EXPECT_TRUE((n * 1).same_as(n));
  EXPECT_TRUE((n * 0).is_int(0));
  EXPECT_TRUE(floordiv(PrimExpr(-7), 2).is_int(-4));
  EXPECT_TRUE(floormod(PrimExpr(-7), 2).is_int(1));
  EXPECT_EQ(to_string(floordiv(n * 4 + 1, 2)), "(n*4 + 1)//2");
}

TEST(Expr, OverflowIsNotFolded) {
  PrimExpr large = std::numeric_limits<int64_t>::max();
  EXPECT_EQ((large + 1).kind(), ExprKind::kAdd);
  EXPECT_EQ((large * 2).kind(), ExprKind::kMul);
}

TEST(Expr, ConstantsTakeTheOtherDType) {
  Var x = make_var("x", DType::kF32);
  PrimExpr sum = x + 1;
  EXPECT_EQ(sum.dtype(), DType::kF32);
  EXPECT_EQ(sum.operand(1)->float_value, 1.0);
  Var i = make_var("i", DType::kI32);
  EXPECT_EQ((i + 1).operand(1).dtype(), DType::kI32);
  EXPECT_EQ(lt(i, 3).dtype(), DType::kBool);
}

TEST(Expr, DifferentDTypesAreACompilerError) {
  try {
    make_binary(ExprKind::kAdd, make_var("a", DType::kF32), make_var("b", DType::kI32));
    FAIL();
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kInternal);
    EXPECT_EQ(e.error().message, "operands of different dtypes: f32 a and i32 b");
  }
}

TEST(Expr, FloorSemantics) {
  for (int64_t a = -9; a <= 9; ++a) {
    for (int64_t b : {-4, -3, -1, 1, 3, 4}) {
      int64_t q = floor_div(a, b), r = floor_mod(a, b);
      EXPECT_EQ(q * b + r, a);
      EXPECT_TRUE(b > 0 ? (0 <= r && r < b) : (b < r && r <= 0)) << a << " " << b;
    }
  }
}

TEST(Expr, SubstituteLeavesUnchangedPartsShared) {
  Var n = make_var("n"), m = make_var("m");
  PrimExpr left = n * 4, right = m * 2;
  PrimExpr sum = left + right;
  PrimExpr replaced = substitute(sum, {{m.get(), PrimExpr(5)}});
  EXPECT_TRUE(replaced.operand(0).same_as(left));
  EXPECT_EQ(to_string(replaced), "n*4 + 5*2");
  EXPECT_TRUE(substitute(left, {{m.get(), PrimExpr(5)}}).same_as(left));
}

TEST(Expr, FreeVarsInOrderWithoutLets) {
  Var n = make_var("n"), m = make_var("m"), v = make_var("v");
  std::vector<Var> vars = free_vars(let(v, m + n, v * m));
  ASSERT_EQ(vars.size(), 2u);
  EXPECT_TRUE(vars[0].same_as(m));
  EXPECT_TRUE(vars[1].same_as(n));
}

TEST(Expr, SameExprComparesTreesAndVariablesByIdentity) {
  Var n = make_var("n"), other = make_var("n");
  EXPECT_TRUE(same_expr(n * 4 + 1, n * 4 + 1));
  EXPECT_FALSE(same_expr(n * 4, other * 4));
  EXPECT_FALSE(same_expr(make_float(0.0, DType::kF32), make_float(-0.0, DType::kF32)));
}

TEST(Expr, SelectAndLogicFold) {
  Var n = make_var("n");
  PrimExpr c = lt(n, 4);
  EXPECT_TRUE(select(make_bool(true), n, PrimExpr(0)).same_as(n));
  EXPECT_TRUE(logical_and(make_bool(true), c).same_as(c));
  EXPECT_TRUE(logical_or(make_bool(true), c).is_int(1));
  EXPECT_TRUE(logical_not(make_bool(false)).is_int(1));
  EXPECT_TRUE(cast(DType::kI64, n).same_as(n));
}

TEST(Intrinsics, TableIsFoundByName) {
  ASSERT_NE(find_intrinsic("fma"), nullptr);
  EXPECT_EQ(find_intrinsic("fma")->operands, 3);
  EXPECT_TRUE(find_intrinsic("exp")->needs_math);
  EXPECT_EQ(find_intrinsic("expo"), nullptr);
}

TEST(ModuleTest, UniqueNameTakesTheFirstFreeOne) {
  Module module;
  EXPECT_EQ(module.unique_name("f"), "f");
  module.functions["f"] = nullptr;
  module.functions["f_1"] = nullptr;
  EXPECT_EQ(module.unique_name("f"), "f_2");
}

TEST(Exceptions, GuardTurnsThemIntoErrors) {
  Result<int> good = guard([] { return 3; });
  EXPECT_EQ(*good, 3);
  Result<int> user = guard([]() -> int { throw_user("bad", "here"); });
  ASSERT_FALSE(user);
  EXPECT_EQ(user.error().kind, ErrorKind::kUser);
  EXPECT_EQ(user.error().where, "here");
  Result<void> other = guard([] { throw std::runtime_error("x"); });
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::kInternal);
  Result<void> memory = guard([] { throw std::bad_alloc(); });
  EXPECT_EQ(memory.error().fault, PlatformFault::kOutOfMemory);
  EXPECT_THROW(unwrap(Result<int>(fail(user_error("bad")))), CompilerException);
}

}  // namespace
}  // namespace tapml
