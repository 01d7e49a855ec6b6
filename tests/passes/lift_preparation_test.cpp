// Values computed once from weights: programs before and after the pass.
#include "passes/lift_preparation.h"

#include <gtest/gtest.h>

#include "checked.h"

namespace tapml::passes {
namespace {

// The cast of b to a wider type would use more memory for the lifetime of the model.
TEST(LiftPreparation, ValuesThatWouldGrowStay) {
  expect_becomes(lift_preparation, R"(
module {model.weights: ["w", "b"]}
def logits(x: Tensor((n, 4), f32), w: Tensor((3, 4), f32), b: Tensor((3,), bf16)) -> Tensor((n, 3), f32) {
  dataflow {
    t: Tensor((4, 3), f32) = permute(w) {axes: [1, 0]}
    h: Tensor((4, 3), bf16) = cast(t) {dtype: bf16}
    y: Tensor((n, 3), f32) = matmul(x, h)
    c: Tensor((3,), f32) = cast(b) {dtype: f32}
    z: Tensor((n, 3), f32) = add(y, c)
    output z
  }
  return z
}
)",
                 R"(
module {model.prepared: ["prepared.0"], model.weights: ["w", "b"]}

def logits(
    x: Tensor((n, 4), f32),
    w: Tensor((3, 4), f32),
    b: Tensor((3,), bf16),
    prepared.0: Tensor((4, 3), bf16)
) -> Tensor((n, 3), f32) {
  dataflow {
    t: Tensor((4, 3), f32) = permute(w) {axes: [1, 0]}
    y: Tensor((n, 3), f32) = matmul(x, prepared.0)
    c: Tensor((3,), f32) = cast(b) {dtype: f32}
    z: Tensor((n, 3), f32) = add(y, c)
    output z
  }
  return z
}

def prepare(w: Tensor((3, 4), f32), b: Tensor((3,), bf16)) -> Tuple(Tensor((4, 3), bf16)) {
  t: Tensor((4, 3), f32) = permute(w) {axes: [1, 0]}
  h: Tensor((4, 3), bf16) = cast(t) {dtype: bf16}
  return (h,)
}
)");
}

TEST(LiftPreparation, FunctionsShareOneResult) {
  expect_becomes(lift_preparation, R"(
module {model.weights: ["w"]}
def first(x: Tensor((n, 4), f32), w: Tensor((3, 4), f32)) -> Tensor((n, 3), f32) {
  dataflow {
    t: Tensor((4, 3), f32) = permute(w) {axes: [1, 0]}
    h: Tensor((4, 3), bf16) = cast(t) {dtype: bf16}
    y: Tensor((n, 3), f32) = matmul(x, h)
    output y
  }
  return y
}
def second(x: Tensor((n, 4), f32), w: Tensor((3, 4), f32)) -> Tensor((n, 3), f32) {
  dataflow {
    s: Tensor((4, 3), f32) = permute(w) {axes: [1, 0]}
    g: Tensor((4, 3), bf16) = cast(s) {dtype: bf16}
    y: Tensor((n, 3), f32) = matmul(x, g)
    output y
  }
  return y
}
)",
                 R"(
module {model.prepared: ["prepared.0"], model.weights: ["w"]}

def first(
    x: Tensor((n, 4), f32),
    w: Tensor((3, 4), f32),
    prepared.0: Tensor((4, 3), bf16)
) -> Tensor((n, 3), f32) {
  dataflow {
    t: Tensor((4, 3), f32) = permute(w) {axes: [1, 0]}
    y: Tensor((n, 3), f32) = matmul(x, prepared.0)
    output y
  }
  return y
}

def prepare(w: Tensor((3, 4), f32)) -> Tuple(Tensor((4, 3), bf16)) {
  t: Tensor((4, 3), f32) = permute(w) {axes: [1, 0]}
  h: Tensor((4, 3), bf16) = cast(t) {dtype: bf16}
  return (h,)
}

def second(
    x: Tensor((n, 4), f32),
    w: Tensor((3, 4), f32),
    prepared.0: Tensor((4, 3), bf16)
) -> Tensor((n, 3), f32) {
  dataflow {
    s: Tensor((4, 3), f32) = permute(w) {axes: [1, 0]}
    y: Tensor((n, 3), f32) = matmul(x, prepared.0)
    output y
  }
  return y
}
)");
}

TEST(LiftPreparation, ModulesWithoutWeightsStay) {
  expect_stays(lift_preparation, R"(
def logits(x: Tensor((n, 4), f32), w: Tensor((3, 4), f32)) -> Tensor((n, 3), f32) {
  dataflow {
    t: Tensor((4, 3), f32) = permute(w) {axes: [1, 0]}
    h: Tensor((4, 3), bf16) = cast(t) {dtype: bf16}
    y: Tensor((n, 3), f32) = matmul(x, h)
    output y
  }
  return y
}
)");
}

}  // namespace
}  // namespace tapml::passes
