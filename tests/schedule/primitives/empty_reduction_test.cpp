// Inits of reductions that may run zero steps, before their loops.
#include "tir/empty_reduction.h"

#include <gtest/gtest.h>

#include "programs.h"

namespace tapml::testing {
namespace {

TEST(EmptyReductions, ABranchRunsTheInit) {
  tir::PrimFuncRef func = parse_program(kSum);
  tir::PrimFuncRef after = schedule::with_body(*func, tir::initialize_empty_reductions(func->body));
  expect_program(after, R"(
prim def k(x: Buffer((n, m), f32), out y: Buffer((n,), f32), n: i64, m: i64) {
  for i in serial(n) {
    if m <= 0 {
      y[i] = f32(0.5)
    }
    for r in serial(m) {
      block "sum" (vi: spatial(n) = i, vr: reduce(m) = r) {
        reads y[vi], x[vi, vr]
        writes y[vi]
        init {
          y[vi] = f32(0.5)
        }
        y[vi] = y[vi] + x[vi, vr]
      }
    }
  }
}
)");
  expect_same_results(func, after, {{{"n", 2}, {"m", 0}}, {{"n", 2}, {"m", 3}}});
}

// A point outside the reduction loop, a second reduction around it, a condition.
TEST(EmptyReductions, PointsAndStepsAround) {
  tir::PrimFuncRef func = parse_program(R"(
prim def k(x: Buffer((m, 4, n), f32), out y: Buffer((n,), f32), n: i64, m: i64) {
  for s in serial(4) {
    for r in serial(m) {
      for i in serial(n) {
        block "sum" (vi: spatial(n) = i, vr: reduce(m) = r, vs: reduce(4) = s) {
          where i < n
          init {
            y[vi] = f32(1.0)
          }
          y[vi] = y[vi] + x[vr, vs, vi]
        }
      }
    }
  }
}
)");
  tir::PrimFuncRef after = schedule::with_body(*func, tir::initialize_empty_reductions(func->body));
  std::string printed = text::print(*after, "k");
  EXPECT_NE(printed.find("if m <= 0 {\n      for i in serial(n) {\n        if i < n and s == 0 {"),
            std::string::npos)
      << printed;
  expect_same_results(func, after, {{{"n", 3}, {"m", 0}}, {{"n", 3}, {"m", 2}}});
}

// A constant number of steps needs no branch.
TEST(EmptyReductions, ConstantExtentsStay) {
  tir::PrimFuncRef func = parse_program(kMatmul);
  EXPECT_EQ(tir::initialize_empty_reductions(func->body), func->body);
}

}  // namespace
}  // namespace tapml::testing
