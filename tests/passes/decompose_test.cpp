// Operators composed of simpler ones: programs before and after the pass.
#include "passes/decompose.h"

#include <gtest/gtest.h>

#include "checked.h"
#include "support/expect_error.h"

namespace tapml::passes {
namespace {

TEST(Decompose, AShapeBecomesItsDimensions) {
  expect_becomes(decompose, R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  s: Shape((n, 4)) = shape_of(x)
  y: Tensor((n, 4), f32) = full(s) {value: 1.0, dtype: f32}
  return y
}
)",
                 R"(
def main(x: Tensor((n, 4), f32)) -> Tensor((n, 4), f32) {
  s: Shape((n, 4)) = shape(n, 4)
  y: Tensor((n, 4), f32) = full(s) {dtype: f32, value: 1.0}
  return y
}
)");
}

// Also in branches, each with its own symbolic variable.
TEST(Decompose, DataDependentSizesBecomeACountAndAFill) {
  expect_becomes(decompose, R"(
def main(c: Prim(bool), x: Tensor((6,), f32)) -> Tensor(ndim=2, i32) {
  i: Tensor(ndim=2, i32) = if (c) {
    a: Tensor(ndim=2, i32) = nonzero(x)
    yield a
  } else {
    y: Tensor((6,), f32) = exp(x)
    b: Tensor(ndim=2, i32) = nonzero(y)
    yield b
  }
  return i
}
)",
                 R"(
def main(c: Prim(bool), x: Tensor((6,), f32)) -> Tensor(ndim=2, i32) {
  i: Tensor(ndim=2, i32) = if (c) {
    count: Tensor((1,), i32) = nonzero_count(x) @check("", "a")
    count_value: Shape(ndim=1) = tensor_to_shape(count) @check("", "a")
    count_shape: Shape((found,)) = match_cast(count_value, Shape((found,))) @check("", "a")
    nonzero: Tensor((found, 1), i32) = nonzero_fill(x, shape(found)) @check("", "a")
    a: Tensor(ndim=2, i32) = nonzero
    yield a
  } else {
    y: Tensor((6,), f32) = exp(x)
    count: Tensor((1,), i32) = nonzero_count(y) @check("", "b")
    count_value: Shape(ndim=1) = tensor_to_shape(count) @check("", "b")
    count_shape: Shape((found_1,)) = match_cast(count_value, Shape((found_1,))) @check("", "b")
    nonzero: Tensor((found_1, 1), i32) = nonzero_fill(y, shape(found_1)) @check("", "b")
    b: Tensor(ndim=2, i32) = nonzero
    yield b
  }
  return i
}
)");
}

TEST(Decompose, RefusesATensorOfUnknownShape) {
  const Module module = checked(text::parse(R"(
def main(x: Tensor(ndim=1, f32)) -> Tensor(ndim=2, i32) {
  a: Tensor(ndim=2, i32) = nonzero(x)
  return a
}
)",
                                            "test"));
  testing::expect_user_error([&] { decompose(module); },
                             {"nonzero", "a tensor of known shape and dtype"});
}

}  // namespace
}  // namespace tapml::passes
