// The order of calls by their memory use: programs before and after the pass.
#include "passes/order_bindings.h"

#include <gtest/gtest.h>

#include "checked.h"

namespace tapml::passes {
namespace {

// Two tensors of 64 columns are never live at once.
TEST(OrderBindings, OneProductIsDoneBeforeTheOtherBegins) {
  expect_main_is(checked(order_bindings(fused(R"(
def main(x: Tensor((n, 4), f32), v: Tensor((4, 64), f32), w: Tensor((4, 64), f32), u: Tensor((64, 1), f32)) -> Tensor((n, 1), f32) {
  dataflow {
    a: Tensor((n, 64), f32) = matmul(x, v)
    b: Tensor((n, 64), f32) = matmul(x, w)
    c: Tensor((n, 1), f32) = matmul(a, u)
    d: Tensor((n, 1), f32) = matmul(b, u)
    y: Tensor((n, 1), f32) = add(c, d)
    output y
  }
  return y
}
)"))),
                 R"(
def main(
    x: Tensor((n, 4), f32),
    v: Tensor((4, 64), f32),
    w: Tensor((4, 64), f32),
    u: Tensor((64, 1), f32)
) -> Tensor((n, 1), f32) {
  dataflow {
    b: Tensor((n, 64), f32) = call_tir(@matmul_0be724a4, (x, w), Tensor((n, 64), f32))
    d: Tensor((n, 1), f32) = call_tir(@matmul_14784509, (b, u), Tensor((n, 1), f32))
    a: Tensor((n, 64), f32) = call_tir(@matmul_0be724a4, (x, v), Tensor((n, 64), f32))
    y: Tensor((n, 1), f32) = call_tir(@matmul_add_aaa0168b, (a, u, d), Tensor((n, 1), f32))
    output y
  }
  return y
}
)");
}

TEST(OrderBindings, AChainHasOneOrder) {
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
  expect_main_is(checked(order_bindings(module)), text::print(main));
}

}  // namespace
}  // namespace tapml::passes
