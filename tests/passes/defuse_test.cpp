// Kernels split into operators: programs before and after the pass.
#include "passes/defuse.h"

#include <gtest/gtest.h>

#include "checked.h"

namespace tapml::passes {
namespace {

TEST(Defuse, AKernelForEachOperator) {
  expect_main_is(checked(defuse(fused(R"(
def main(x: Tensor((n, 8), f32), w: Tensor((8, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = matmul(x, w)
    b: Tensor((n, 8), f32) = relu(a)
    output b
  }
  return b
}
)"))),
                 R"(
def main(x: Tensor((n, 8), f32), w: Tensor((8, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    b_part: Tensor((n, 8), f32) = call_tir(@matmul_9d987166, (x, w), Tensor((n, 8), f32))
    b: Tensor((n, 8), f32) = call_tir(@relu_71a26814, (b_part,), Tensor((n, 8), f32))
    output b
  }
  return b
}
)");
}

TEST(Defuse, KernelsOfOneOperatorStay) {
  const Module module = fused(R"(
def main(x: Tensor((n, 4), f32), v: Tensor((4, 64), f32), u: Tensor((64, 1), f32)) -> Tensor((n, 1), f32) {
  dataflow {
    a: Tensor((n, 64), f32) = matmul(x, v)
    c: Tensor((n, 1), f32) = matmul(a, u)
    output c
  }
  return c
}
)");
  Module main;
  main.functions["main"] = module.functions.at("main");
  expect_main_is(checked(defuse(module)), text::print(main));
}

}  // namespace
}  // namespace tapml::passes
