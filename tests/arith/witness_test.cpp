// Assignments that satisfy the facts: what they refute, and what they must not refute.
#include "arith/witness.h"

#include <gtest/gtest.h>

#include "arith/answers.h"
#include "arith/simplifier.h"
#include "random_expr.h"

namespace tapml::arith {
namespace {

class WitnessTest : public testing::Test {
 protected:
  Polynomial polynomial(const PrimExpr& e) { return Simplifier(atoms, facts).polynomial(e); }
  void assume(const PrimExpr& condition) {
    Facts extended = facts;
    Simplifier(atoms, facts).learn(condition, true, extended);
    facts = extended;
  }
  bool any_below(const PrimExpr& e, int64_t goal) {
    Polynomial p = polynomial(e);
    return facts.answers(atoms).witnesses.any_below(p, goal, facts);
  }
  Range seen(const PrimExpr& e) {
    Polynomial p = polynomial(e);
    return facts.answers(atoms).witnesses.seen(p, facts);
  }

  AtomTable atoms;
  Facts facts;
  Var n = make_var("n"), i = make_var("i"), j = make_var("j");
};

TEST_F(WitnessTest, TakesBothEndsOfALoop) {
  assume(le(0, n));
  assume(le(0, i));
  assume(lt(i, n));
  EXPECT_TRUE(any_below(i - 1, 0));
  EXPECT_FALSE(any_below(i, 0));
  EXPECT_TRUE(any_below(n - i - 2, 0));
  EXPECT_FALSE(any_below(n - i - 1, 0));
  EXPECT_TRUE(any_below(PrimExpr(4096) - n, 0));
}

TEST_F(WitnessTest, SeesTheRangeOfABoundedLoop) {
  assume(le(2, i));
  assume(lt(i, 10));
  EXPECT_EQ(seen(i * 3), (Range{6, 27}));
  EXPECT_EQ(seen(floordiv(i, 4)), (Range{0, 2}));
}

TEST_F(WitnessTest, KeepsResidues) {
  assume(le(0, n));
  assume(eq(floormod(n, 8), 4));
  for (int64_t goal : {1, 2, 3, 4}) EXPECT_FALSE(any_below(n, goal));
  EXPECT_TRUE(any_below(n, 100));
  Range range = seen(floormod(n, 8));
  EXPECT_EQ(range, (Range{4, 4}));
}

TEST_F(WitnessTest, NothingHasAValueUnderAContradiction) {
  assume(lt(i, j));
  assume(lt(j, i));
  EXPECT_FALSE(any_below(i, INT64_MAX));
  Range range = seen(i);
  EXPECT_GT(range.lo, range.hi);
}

TEST_F(WitnessTest, AnUnsatisfiedProductFactRefutesNothing) {
  assume(le(1, n));
  assume(le(1, i));
  assume(lt(n * i, 1));
  EXPECT_FALSE(any_below(j, INT64_MAX));
}

TEST_F(WitnessTest, ADivisorOfZeroHasNoQuotient) {
  assume(le(0, n));
  assume(le(n, 0));
  EXPECT_FALSE(any_below(floordiv(j, n + i - i), INT64_MAX));
}

// A statement proved from facts is never refuted: an assignment that violates a fact would fail
// here.
TEST_F(WitnessTest, BoundsContainObservedValues) {
  for (int round = 0; round < 2000; ++round) {
    RandomExpr random(test_seed() * 5000011 + static_cast<uint64_t>(round));
    AtomTable table;
    Facts known;
    Analyzer unused;
    std::vector<RandomVar> vars = random.variables(unused);
    for (const RandomVar& var : vars) {
      Simplifier simplifier(table, known);
      Facts extended = known;
      if (var.extent >= 0) {
        simplifier.learn(le(0, var.var), true, extended);
        simplifier.learn(lt(var.var, vars[static_cast<size_t>(var.extent)].var), true, extended);
      } else {
        simplifier.learn(le(var.lo, var.var), true, extended);
        simplifier.learn(le(var.var, var.hi), true, extended);
      }
      known = extended;
    }
    Facts extended = known;
    PrimExpr assumption = random.condition(vars, 2);
    Simplifier(table, known).learn(assumption, true, extended);
    PrimExpr e = random.integer(vars, 3);
    Simplifier simplifier(table, extended);
    Polynomial p = simplifier.polynomial(e);
    Range range = extended.answers(table).witnesses.seen(p, extended);
    if (range.lo > range.hi) continue;
    Range interval = simplifier.prover().interval(p);
    ASSERT_TRUE(interval.contains(range.lo) && interval.contains(range.hi))
        << "TAPML_SEED=" << test_seed() << " round " << round << ": " << to_string(e) << " given "
        << to_string(assumption);
  }
}

}  // namespace
}  // namespace tapml::arith
