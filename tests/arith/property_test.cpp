// Random expressions against brute force. TAPML_SEED sets the seed, TAPML_ROUNDS the effort.
#include <gtest/gtest.h>

#include <cstdio>

#include "random_expr.h"

namespace tapml::arith {
namespace {

int rounds(int usual) {
  const char* text = std::getenv("TAPML_ROUNDS");
  return text ? std::atoi(text) : usual;
}

class Property : public testing::Test {
 protected:
  void SetUp() override { std::printf("TAPML_SEED=%llu\n", (unsigned long long)test_seed()); }
};

std::string about(uint64_t round, const PrimExpr& e) {
  return "round " + std::to_string(round) + ": " + to_string(e);
}

TEST_F(Property, SimplifyKeepsValuesAndIsIdempotent) {
  for (int round = 0; round < rounds(4000); ++round) {
    RandomExpr random(test_seed() * 1000003 + static_cast<uint64_t>(round));
    Analyzer a;
    auto vars = random.variables(a);
    PrimExpr e = round % 5 == 0 ? random.condition(vars, 3) : random.integer(vars, 4);
    PrimExpr simple = a.simplify(e);
    SCOPED_TRACE(about(round, e) + "  ->  " + to_string(simple));
    PrimExpr again = a.simplify(simple);
    ASSERT_TRUE(same_expr(simple, again)) << to_string(again);
    Interval bounds = e.dtype() == DType::kBool ? Interval{} : a.bounds(e);
    for_grid(vars, [&](const Values& values) {
      auto expected = evaluate(e, values);
      if (!expected) return;
      ASSERT_EQ(evaluate(simple, values), expected) << describe(vars, values);
      if (bounds.lo) {
        ASSERT_LE(*bounds.lo, *expected) << describe(vars, values);
      }
      if (bounds.hi) {
        ASSERT_GE(*bounds.hi, *expected) << describe(vars, values);
      }
    });
    if (HasFatalFailure()) return;
  }
}

// Proved statements hold, also under assumptions.
TEST_F(Property, ProofsAreTrue) {
  int proved = 0, valid = 0;
  for (int round = 0; round < rounds(6000); ++round) {
    RandomExpr random(test_seed() * 7000003 + static_cast<uint64_t>(round));
    Analyzer a;
    auto vars = random.variables(a);
    PrimExpr assumption = make_bool(true);
    if (round % 2 == 1) {
      assumption = random.condition(vars, 2);
      a.assume(assumption);
    }
    PrimExpr e = random.condition(vars, 2);
    int64_t divisor = random.pick(2, 6);
    PrimExpr value = random.integer(vars, 3);
    bool divisible = a.prove_divisible(value, divisor);
    bool holds = a.prove(e);
    PrimExpr simple = a.simplify(value);
    SCOPED_TRACE(about(round, e) + "  given " + to_string(assumption) + "; " + to_string(value) +
                 " divisible by " + std::to_string(divisor) + " -> " + to_string(simple));
    bool always = true;
    for_grid(vars, [&](const Values& values) {
      if (evaluate(assumption, values) != 1) return;
      auto truth = evaluate(e, values);
      if (truth) always &= *truth == 1;
      if (truth && holds) {
        ASSERT_EQ(*truth, 1) << describe(vars, values);
      }
      auto x = evaluate(value, values);
      if (!x) return;
      ASSERT_EQ(evaluate(simple, values), x) << describe(vars, values);
      if (divisible) {
        ASSERT_EQ(floor_mod(*x, divisor), 0) << describe(vars, values);
      }
    });
    if (HasFatalFailure()) return;
    proved += holds;
    valid += always;
  }
  std::printf("proved %d of %d conditions that hold on the grid\n", proved, valid);
  EXPECT_GT(proved, valid / 3);
}

// A rewritten expression equals the original, and in most cases the prover can show it.
TEST_F(Property, RearrangedSumsAreEqual) {
  for (int round = 0; round < rounds(2000); ++round) {
    RandomExpr random(test_seed() * 9000011 + static_cast<uint64_t>(round));
    Analyzer a;
    auto vars = random.variables(a);
    PrimExpr x = random.integer(vars, 2), y = random.integer(vars, 2), z = random.integer(vars, 1);
    auto bin = [](ExprKind kind, PrimExpr p, PrimExpr q) { return make_binary(kind, p, q); };
    PrimExpr left = bin(ExprKind::kMul, bin(ExprKind::kAdd, x, y), z);
    PrimExpr right = bin(ExprKind::kAdd, bin(ExprKind::kMul, z, y), bin(ExprKind::kMul, x, z));
    ASSERT_TRUE(a.prove_equal(left, right)) << about(round, left);
    ASSERT_TRUE(same_expr(a.simplify(left), a.simplify(right))) << about(round, left);
    ASSERT_TRUE(a.prove_less(left, bin(ExprKind::kAdd, right, 1))) << about(round, left);
  }
}

// Constants near the limits: where both forms have a value, the values are equal.
TEST_F(Property, HugeConstants) {
  const int64_t huge[] = {INT64_MAX, INT64_MIN, INT64_MIN + 1, INT64_MAX / 2, 1LL << 40, -1, 3};
  for (int round = 0; round < rounds(2000); ++round) {
    RandomExpr random(test_seed() * 11000027 + static_cast<uint64_t>(round));
    Analyzer a;
    auto vars = random.variables(a);
    PrimExpr e = random.integer(vars, 2);
    ExprKind kinds[] = {ExprKind::kAdd, ExprKind::kSub,      ExprKind::kMul, ExprKind::kFloorDiv,
                        ExprKind::kMin, ExprKind::kFloorMod, ExprKind::kMax};
    for (int step = 0; step < 3; ++step) {
      PrimExpr constant = make_int(huge[random.pick(0, 6)]);
      ExprKind kind = kinds[random.pick(0, 6)];
      e = random.pick(0, 3) == 0 && kind != ExprKind::kFloorDiv && kind != ExprKind::kFloorMod
              ? make_binary(kind, constant, e)
              : make_binary(kind, e, constant);
    }
    PrimExpr simple = a.simplify(e);
    SCOPED_TRACE(about(round, e) + "  ->  " + to_string(simple));
    Interval bounds = a.bounds(e);
    for_grid(vars, [&](const Values& values) {
      auto expected = evaluate(e, values);
      auto value = evaluate(simple, values);
      if (!expected) return;
      if (value) {
        ASSERT_EQ(value, expected) << describe(vars, values);
      }
      if (bounds.lo) {
        ASSERT_LE(*bounds.lo, *expected) << describe(vars, values);
      }
      if (bounds.hi) {
        ASSERT_GE(*bounds.hi, *expected) << describe(vars, values);
      }
    });
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace tapml::arith
