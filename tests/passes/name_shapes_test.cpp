// Symbolic shapes for dimensions that deduction leaves open: programs before and after the pass.
#include "passes/name_shapes.h"

#include <gtest/gtest.h>

#include "checked.h"

namespace tapml::passes {
namespace {

TEST(NameShapes, AnOperandOfKnownRankGetsDimensions) {
  expect_becomes(name_shapes, R"(
def main(x: Tensor(ndim=1, f32)) -> Tensor(ndim=1, f32) {
  y: Tensor(ndim=1, f32) = exp(x)
  return y
}
)",
                 R"(
def main(x: Tensor(ndim=1, f32)) -> Tensor(ndim=1, f32) {
  x_known: Tensor((x_d0,), f32) = match_cast(x, Tensor((x_d0,), f32)) @check("parameter x")
  y: Tensor((x_d0,), f32) = exp(x_known)
  return y
}
)");
}

// The block is split, since an if is control flow.
TEST(NameShapes, AnIfDecidesTheBroadcast) {
  expect_becomes(name_shapes, R"(
def main(x: Tensor((n,), f32), y: Tensor((m,), f32)) -> Tensor(ndim=1, f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    b: Tensor(ndim=1, f32) = add(a, y)
    output b
  }
  return b
}
)",
                 R"(
def main(x: Tensor((n,), f32), y: Tensor((m,), f32)) -> Tensor(ndim=1, f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    output a
  }
  b: Tensor(ndim=1, f32) = if (prim(n == m)) {
    b_of_add: Tensor((n,), f32) = match_cast(y, Tensor((n,), f32)) @check("operand b of add", "b")
    b_1: Tensor((n,), f32) = add(a, b_of_add)
    yield b_1
  } else {
    b_broadcast: Tensor(ndim=1, f32) = if (prim(m == 1)) {
      b_of_add: Tensor((1,), f32) = match_cast(y, Tensor((1,), f32)) @check("operand b of add", "b")
      b_1: Tensor((n,), f32) = add(a, b_of_add)
      yield b_1
    } else {
      a_of_add: Tensor((min(max(n - 1, 1 - n), 1)*(m - 1) + 1,), f32) = match_cast(a, Tensor((min(max(n - 1, 1 - n), 1)*(m - 1) + 1,), f32)) @check("operand a of add", "b")
      a_of_add_1: Tensor((1,), f32) = match_cast(a_of_add, Tensor((1,), f32)) @check("operand a of add", "b")
      b_1: Tensor((m,), f32) = add(a_of_add_1, y)
      yield b_1
    } @check("", "b")
    yield b_broadcast
  }
  return b
}
)");
}

// Equal dimensions and a dimension of 1 need no branch.
TEST(NameShapes, ProvableShapesStay) {
  expect_stays(name_shapes, R"(
def main(x: Tensor((n,), f32), y: Tensor((n,), f32), z: Tensor((1,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = add(x, y)
    b: Tensor((n,), f32) = add(a, z)
    output b
  }
  return b
}
)");
}

}  // namespace
}  // namespace tapml::passes
