#include "abi/scalar_program.h"

#include <gtest/gtest.h>

#include <limits>

#include "base/rng.h"

namespace tapml {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

ScalarProgram binary(ScalarOp op) {
  return {{{ScalarOp::kSlot, 0}, {ScalarOp::kSlot, 1}, {op, 0}}};
}

Result<int64_t> apply(ScalarOp op, int64_t a, int64_t b) {
  const int64_t slots[] = {a, b};
  return evaluate(binary(op), slots);
}

TEST(ScalarProgramTest, ConstantsAndSlots) {
  const int64_t slots[] = {5, 6};
  EXPECT_EQ(evaluate(ScalarProgram::constant(-3), {}).value(), -3);
  EXPECT_EQ(evaluate(ScalarProgram::slot(1), slots).value(), 6);
  // (s0 + 15) // 16 * 4
  ScalarProgram program = {{{ScalarOp::kSlot, 0},
                            {ScalarOp::kConst, 15},
                            {ScalarOp::kAdd},
                            {ScalarOp::kConst, 16},
                            {ScalarOp::kFloorDiv},
                            {ScalarOp::kConst, 4},
                            {ScalarOp::kMul}}};
  EXPECT_EQ(evaluate(program, std::vector<int64_t>{33}).value(), 12);
}

TEST(ScalarProgramTest, FloorDivisionAndModulusAgreeWithTheirDefinition) {
  for (int64_t a = -20; a <= 20; ++a) {
    for (int64_t b = -7; b <= 7; ++b) {
      if (b == 0) continue;
      int64_t q = apply(ScalarOp::kFloorDiv, a, b).value();
      int64_t r = apply(ScalarOp::kFloorMod, a, b).value();
      EXPECT_EQ(q * b + r, a);
      EXPECT_TRUE(r == 0 || (r < 0) == (b < 0)) << a << " " << b;
      EXPECT_LT(std::abs(r), std::abs(b));
    }
  }
}

TEST(ScalarProgramTest, MinMaxSub) {
  EXPECT_EQ(apply(ScalarOp::kMin, -3, 4).value(), -3);
  EXPECT_EQ(apply(ScalarOp::kMax, -3, 4).value(), 4);
  EXPECT_EQ(apply(ScalarOp::kSub, -3, 4).value(), -7);
}

TEST(ScalarProgramTest, OverflowAndZeroDivisorsAreInputErrors) {
  struct Case {
    ScalarOp op;
    int64_t a, b;
    const char* found;
  };
  for (const Case& c :
       {Case{ScalarOp::kAdd, kMax, 1, "9223372036854775807 + 1"},
        Case{ScalarOp::kSub, kMin, 1, "-9223372036854775808 - 1"},
        Case{ScalarOp::kMul, kMax, 2, "9223372036854775807 * 2"},
        Case{ScalarOp::kFloorDiv, kMin, -1, "-9223372036854775808 // -1"},
        Case{ScalarOp::kFloorDiv, 3, 0, "3 // 0"}, Case{ScalarOp::kFloorMod, 3, 0, "3 % 0"}}) {
    auto result = apply(c.op, c.a, c.b);
    ASSERT_FALSE(result) << c.found;
    EXPECT_EQ(result.error().kind, ErrorKind::kUser);
    EXPECT_EQ(result.error().found, c.found);
  }
  EXPECT_EQ(apply(ScalarOp::kFloorMod, kMin, -1).value(), 0);
  EXPECT_EQ(apply(ScalarOp::kFloorDiv, 7, -1).value(), -7);
}

TEST(ScalarProgramTest, MalformedProgramsAreRefused) {
  auto refused = [](ScalarProgram program) {
    const int64_t slots[] = {1};
    auto result = evaluate(program, slots);
    return !result && result.error().kind == ErrorKind::kInternal;
  };
  EXPECT_TRUE(refused({}));
  EXPECT_TRUE(refused({{{ScalarOp::kAdd, 0}}}));
  EXPECT_TRUE(refused({{{ScalarOp::kConst, 1}, {ScalarOp::kAdd, 0}}}));
  EXPECT_TRUE(refused({{{ScalarOp::kConst, 1}, {ScalarOp::kConst, 1}}}));
  EXPECT_TRUE(refused({{{ScalarOp::kSlot, 1}}}));
  EXPECT_TRUE(refused({{{ScalarOp::kSlot, -1}}}));
  EXPECT_TRUE(
      refused({{{ScalarOp::kConst, 1}, {ScalarOp::kConst, 1}, {static_cast<ScalarOp>(99), 0}}}));
}

TEST(ScalarProgramTest, DeepStacksWork) {
  ScalarProgram sum;
  for (int i = 0; i < 1000; ++i) sum.code.push_back({ScalarOp::kConst, i});
  for (int i = 0; i < 999; ++i) sum.code.push_back({ScalarOp::kAdd, 0});
  EXPECT_EQ(evaluate(sum, {}).value(), 499500);
}

TEST(ScalarProgramTest, RandomProgramsNeverCrash) {
  RandomStream random(5, "programs");
  const int64_t slots[] = {0, -1, kMin, kMax};
  int values = 0;
  for (int round = 0; round < 20000; ++round) {
    ScalarProgram program;
    uint32_t length = random.below(9);
    for (uint32_t i = 0; i < length; ++i) {
      auto op = static_cast<ScalarOp>(random.below(3) ? random.below(2) : random.below(10));
      program.code.push_back({op, random.between(-1, 4)});
    }
    values += evaluate(program, slots).has_value();
  }
  EXPECT_GT(values, 1000);
}

}  // namespace
}  // namespace tapml
