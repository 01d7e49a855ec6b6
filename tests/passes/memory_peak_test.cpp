// The peak memory of planned functions.
#include <gtest/gtest.h>

#include "arith/evaluate.h"
#include "passes/legalize.h"
#include "passes/memory/report.h"
#include "passes/plan_memory.h"
#include "text/parser.h"

namespace tapml::passes {
namespace {

// A variable that an operator determines has one name wherever the function is called.
TEST(MemoryPeak, VariablesOfOneNameCountSeparately) {
  const Module planned = plan_memory(
      legalize(text::parse("def main(a: Tensor((4,), f32), b: Tensor((4,), f32))"
                           " -> Tuple(Tensor(ndim=1, f32), Tensor(ndim=1, f32)) {\n"
                           "  u: Tuple(Tensor(ndim=1, f32), Object, Object) = unique(a)\n"
                           "  w: Tuple(Tensor(ndim=1, f32), Object, Object) = unique(b)\n"
                           "  x: Tensor(ndim=1, f32) = u[0]\n"
                           "  y: Tensor(ndim=1, f32) = w[0]\n"
                           "  return (x, y)\n}\n",
                           "a test")));
  const PrimExpr peak = memory_report(planned).functions.at(0).peak;
  ASSERT_TRUE(peak);
  const std::vector<Var> found = free_vars(peak);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0]->name, found[1]->name);
  // Only the sum of the elements that the two find matters, not which finds more.
  auto bytes = [&](int64_t first, int64_t second) {
    return arith::evaluate(peak, {{found[0].get(), first}, {found[1].get(), second}}).value();
  };
  EXPECT_LT(bytes(4000, 0), bytes(4000, 4000));
  EXPECT_GT(bytes(4000, 0), bytes(0, 0));
  EXPECT_GT(bytes(0, 4000), bytes(0, 0));
}

}  // namespace
}  // namespace tapml::passes
