// Compile-time evaluation: programs before and after the pass.
#include "passes/partial_evaluate.h"

#include <gtest/gtest.h>

#include "checked.h"

namespace tapml::passes {
namespace {

TEST(PartialEvaluate, LoopsOfKnownLengthAreUnrolled) {
  expect_becomes(partial_evaluate, R"(
def main(x: Tensor((n,), f32)) -> Tensor(ndim=1, f32) {
  y: Tensor(ndim=1, f32) = for i in range(2) (a: Tensor((m,), f32) = x) {
    dataflow {
      b: Tensor((m*2,), f32) = concat((a, a)) {axis: 0}
      output b
    }
    yield b
  }
  z: Tensor(ndim=1, f32) = add(y, y)
  return z
}
)",
                 R"(
def main(x: Tensor((n,), f32)) -> Tensor(ndim=1, f32) {
  dataflow {
    b: Tensor((n*2,), f32) = concat((x, x)) {axis: 0}
    b_1: Tensor((n*4,), f32) = concat((b, b)) {axis: 0}
    output b_1
  }
  z: Tensor((n*4,), f32) = add(b_1, b_1)
  return z
}
)");
}

TEST(PartialEvaluate, OnlyKnownConditionsSelectABranch) {
  expect_becomes(partial_evaluate, R"(
def main(c: Prim(bool), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  t: Prim(bool) = prim(1 <= 2)
  y: Tensor((n,), f32) = if (t) {
    a: Tensor((n,), f32) = exp(x)
    yield a
  } else {
    yield x
  }
  z: Tensor((n,), f32) = if (c) {
    b: Tensor((n,), f32) = exp(y)
    yield b
  } else {
    yield y
  }
  return z
}
)",
                 R"(
def main(c: Prim(bool), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  a: Tensor((n,), f32) = exp(x)
  z: Tensor((n,), f32) = if (c) {
    b: Tensor((n,), f32) = exp(a)
    yield b
  } else {
    yield a
  }
  return z
}
)");
}

}  // namespace
}  // namespace tapml::passes
