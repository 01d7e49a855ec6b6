// Nested expressions: programs before and after the pass.
#include "passes/a_normal_form.h"

#include <gtest/gtest.h>

#include "checked.h"
#include "text/printer.h"

namespace tapml::passes {
namespace {

TEST(ANormalForm, NestedOperandsBecomeBindings) {
  EXPECT_EQ(text::print(checked(a_normal_form(text::parse(R"(
def main(x: Tensor((n, 4), f32), w: Tensor((4, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    y: Tensor((n, 4), f32) = silu(matmul(relu(x), w))
    output y
  }
  return y
}
)",
                                                          "before")))),
            text::print(text::parse(R"(
def main(x: Tensor((n, 4), f32), w: Tensor((4, 4), f32)) -> Tensor((n, 4), f32) {
  dataflow {
    y_0: Tensor((n, 4), f32) = relu(x) @check("", "y")
    y_1: Tensor((n, 4), f32) = matmul(y_0, w) @check("", "y")
    y: Tensor((n, 4), f32) = silu(y_1)
    output y
  }
  return y
}
)",
                                    "after")));
}

// Each call stays a call: this pass merges nothing.
TEST(ANormalForm, OperandsAreEvaluatedFromLeftToRight) {
  EXPECT_EQ(text::print(checked(a_normal_form(text::parse(R"(
def pair(x: Tensor((n,), f32)) -> Tuple(Tensor((n,), f32), Tensor((n,), f32)) {
  return (x, exp(x))
}
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = add(@pair(x)[1], @pair(x)[0])
  return y
}
)",
                                                          "before")))),
            text::print(text::parse(R"(
def main(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y_0: Tuple(Tensor((n,), f32), Tensor((n,), f32)) = @pair(x) @check("", "y")
  y_1: Tensor((n,), f32) = y_0[1] @check("", "y")
  y_2: Tuple(Tensor((n,), f32), Tensor((n,), f32)) = @pair(x) @check("", "y")
  y_3: Tensor((n,), f32) = y_2[0] @check("", "y")
  y: Tensor((n,), f32) = add(y_1, y_3)
  return y
}

def pair(x: Tensor((n,), f32)) -> Tuple(Tensor((n,), f32), Tensor((n,), f32)) {
  result_0: Tensor((n,), f32) = exp(x)
  return (x, result_0)
}
)",
                                    "after")));
}

TEST(ANormalForm, BranchesBecomeSequences) {
  EXPECT_EQ(text::print(checked(a_normal_form(text::parse(R"(
def main(c: Prim(bool), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = if (c) x else exp(x)
  return y
}
)",
                                                          "before")))),
            text::print(text::parse(R"(
def main(c: Prim(bool), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = if (c) {
    yield x
  } else {
    y_0: Tensor((n,), f32) = exp(x) @check("", "y")
    yield y_0
  }
  return y
}
)",
                                    "after")));
}

TEST(ANormalForm, BindingsOfAtomsStay) {
  expect_stays([](const Module& module) { return a_normal_form(module); }, R"(
def main(c: Prim(bool), x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  dataflow {
    a: Tensor((n,), f32) = exp(x)
    y: Tensor((n,), f32) = add(a, const(f32, (), [1.0]))
    output y
  }
  z: Tensor((n,), f32) = if (c) {
    b: Tensor((n,), f32) = exp(y)
    yield b
  } else {
    yield y
  }
  return z
}
)");
}

}  // namespace
}  // namespace tapml::passes
