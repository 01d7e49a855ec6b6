// Deep and adversarial expressions stay cheap: no case would end if the work doubled at each level.
#include <gtest/gtest.h>

#include "arith/analyzer.h"
#include "arith/elimination.h"

namespace tapml::arith {
namespace {

PrimExpr bin(ExprKind kind, PrimExpr a, PrimExpr b) { return make_binary(kind, a, b); }

TEST(Effort, LongSums) {
  Analyzer a;
  PrimExpr sum = make_var("v0");
  for (int i = 1; i < 900; ++i) sum = sum + make_var("v" + std::to_string(i));
  PrimExpr simple = a.simplify(sum);
  EXPECT_TRUE(a.prove_equal(sum, simple));
}

TEST(Effort, OverflowingProducts) {
  Analyzer a;
  PrimExpr product = make_var("x");
  for (int i = 0; i < 300; ++i) product = bin(ExprKind::kMul, product, make_int(INT64_MAX));
  EXPECT_TRUE(a.simplify(product).same_as(product));
}

TEST(Effort, WideProducts) {
  Analyzer a;
  PrimExpr product = make_var("x");
  for (int i = 0; i < 60; ++i) {
    product = bin(ExprKind::kMul, product, make_var("y") + make_var("z"));
  }
  EXPECT_TRUE(a.prove_equal(product, product));
}

TEST(Effort, NestedConditions) {
  Analyzer a;
  Var n = make_var("n"), m = make_var("m");
  PrimExpr e = n;
  for (int i = 0; i < 24; ++i) e = select(lt(e, m + i), e * 2 + 1, m - i);
  (void)e;
  PrimExpr chain = n;
  for (int i = 0; i < 60; ++i) chain = select(lt(chain, m + i), n + i, m);
  PrimExpr simple = a.simplify(chain);
  EXPECT_TRUE(same_expr(simple, a.simplify(simple)));
}

TEST(Effort, NestedQuotientsMinMaxAndLets) {
  Analyzer a;
  Var n = make_var("n"), m = make_var("m");
  a.bind(n, 0, {});
  PrimExpr e = n;
  for (int i = 0; i < 200; ++i) {
    e = bin(ExprKind::kAdd, bin(ExprKind::kFloorDiv, e, make_int(3 + i % 4)), m);
  }
  EXPECT_TRUE(a.prove_equal(e, e));
  PrimExpr extrema = n;
  for (int i = 0; i < 40; ++i) {
    extrema = bin(i % 2 ? ExprKind::kMin : ExprKind::kMax, extrema, make_var("x") * (i + 2));
  }
  EXPECT_TRUE(a.prove_equal(extrema, extrema));
  PrimExpr body = n;
  for (int i = 0; i < 60; ++i) {
    Var t = make_var("t" + std::to_string(i));
    body = let(t, i % 2 ? PrimExpr(i) : n * m, body + t);
  }
  EXPECT_TRUE(a.prove_equal(body, body));
  PrimExpr logic = lt(n, m);
  for (int i = 0; i < 200; ++i) logic = logical_and(logic, lt(n, m * (i + 2)));
  a.simplify(logic);
}

// A quotient that is too large to decompose: the search finds no operands in it.
TEST(Effort, QuotientsWithoutOperands) {
  AtomTable atoms;
  Facts facts;
  Polynomial x = Polynomial::atom(atoms.intern(make_var("x")));
  AtomId quotient = atoms.intern(floordiv(make_var("a"), make_var("b")));
  EXPECT_FALSE(Elimination(atoms, facts).reaches(Polynomial::atom(quotient) * x, 0));
  EXPECT_EQ(Elimination(atoms, facts).lower(Polynomial::atom(quotient)), Range::kNegInf);
}

}  // namespace
}  // namespace tapml::arith
