// Unused bindings and functions: programs before and after the pass.
#include "passes/dead_code.h"

#include <gtest/gtest.h>

#include "checked.h"

namespace tapml::passes {
namespace {

// @helper is private and unreached; @open is public, and @used is called.
TEST(DeadCode, CallsOutsideOfDataflowStay) {
  expect_becomes(eliminate_dead_code, R"(
def helper(x: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  return x
}
def used(x: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  return x
}
def open(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  return x
}
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    y: Tensor((n,), f32) = relu(x)
    output y
  }
  t: Tuple(Tensor((n,), f32), Tensor((n,), f32)) = (y, y)
  z: Tensor((n,), f32) = @used(y)
  return y
}
)",
                 R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    y: Tensor((n,), f32) = relu(x)
    output y
  }
  z: Tensor((n,), f32) = @used(y)
  return y
}

def open(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  return x
}

def used(x: Tensor((n,), f32)) -> Tensor((n,), f32) {private: true} {
  return x
}
)");
}

// A check by match_cast is kept.
TEST(DeadCode, BranchesLoseTheirUnusedBindings) {
  expect_becomes(eliminate_dead_code, R"(
def main(c: Prim(bool), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = if (c) {
    dataflow {
      a: Tensor((n,), f32) = exp(x)
      b: Tensor((n,), f32) = exp(a)
      d: Tensor((n,), f32) = relu(x)
      output b, d
    }
    yield d
  } else {
    e: Tensor((n,), f32) = match_cast(x, Tensor((n,), f32))
    yield x
  }
  return y
}
)",
                 R"(
def main(c: Prim(bool), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = if (c) {
    dataflow {
      d: Tensor((n,), f32) = relu(x)
      output d
    }
    yield d
  } else {
    e: Tensor((n,), f32) = match_cast(x, Tensor((n,), f32))
    yield x
  }
  return y
}
)");
}

}  // namespace
}  // namespace tapml::passes
