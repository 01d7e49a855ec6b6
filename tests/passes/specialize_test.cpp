// Programs for given shapes (case 8 of the language cases: bind {batch: 1, k: 2, m: 3}).
#include "passes/specialize.h"

#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "support/expect_error.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::passes {
namespace {

using ::tapml::testing::expect_user_error;

const char* const kSymbolicProgram = R"(
def main(
    x: Tensor((batch, m - 1), f32),
    y: Tensor((m, n), f32),
    z: Tensor((k, 10), f32),
    s: Shape((m, batch))
) -> Tuple(Tensor((batch, m - 1), f32), Tensor((m, n), f32), Tensor((k, 10), f32), Tensor((m, batch), f32)) {
  dataflow {
    a: Tensor((batch, m - 1), f32) = exp(x)
    b: Tensor((m, n), f32) = negative(y)
    c: Tensor((k, 10), f32) = relu(z)
    d: Tensor((m, batch), f32) = full(shape(m, batch)) {value: 1.0, dtype: f32}
    output a, b, c, d
  }
  return (a, b, c, d)
}
)";

TEST(Specialize, ReplacesVariablesEverywhere) {
  Module module =
      specialize(text::parse(kSymbolicProgram, "test"), "main", {{"batch", 1}, {"k", 2}, {"m", 3}});
  analysis::verify(module);
  build::check_annotations(module);
  EXPECT_EQ(text::print(module), text::print(text::parse(R"(
def main(
    x: Tensor((1, 2), f32),
    y: Tensor((3, n), f32),
    z: Tensor((2, 10), f32),
    s: Shape((3, 1))
) -> Tuple(Tensor((1, 2), f32), Tensor((3, n), f32), Tensor((2, 10), f32), Tensor((3, 1), f32)) {
  dataflow {
    a: Tensor((1, 2), f32) = exp(x)
    b: Tensor((3, n), f32) = negative(y)
    c: Tensor((2, 10), f32) = relu(z)
    d: Tensor((3, 1), f32) = full(shape(3, 1)) {value: 1.0, dtype: f32}
    output a, b, c, d
  }
  return (a, b, c, d)
}
)",
                                                         "test")));
}

// The loop and the branch are decided, and what they computed becomes one block of operators.
TEST(BindShapes, DecidesWhatTheValuesDecide) {
  const Module module = text::parse(R"(
def main(x: Tensor((4,), f32), s: Shape((n, k))) -> Tensor((4,), f32) {
  y: Tensor((4,), f32) = for i in range(n) (a: Tensor((4,), f32) = x) {
    dataflow {
      b: Tensor((4,), f32) = exp(a)
      output b
    }
    yield b
  }
  r: Tensor((4,), f32) = if (prim(n < 3)) {
    yield y
  } else {
    z: Tensor((4,), f32) = relu(y)
    yield z
  }
  return r
}
)",
                                    "test");
  const Module bound = bind_shapes(module, {{"main", {{"n", 2}}}});
  analysis::verify(bound);
  build::check_annotations(bound);
  EXPECT_EQ(text::print(bound), text::print(text::parse(R"(
def main(x: Tensor((4,), f32), s: Shape((2, k))) -> Tensor((4,), f32) {
  dataflow {
    b: Tensor((4,), f32) = exp(x)
    b_1: Tensor((4,), f32) = exp(b)
    output b_1
  }
  return b_1
}
)",
                                                        "test")));
  EXPECT_EQ(text::print(bind_shapes(module, {})), text::print(module));
}

TEST(Specialize, KeepsBounds) {
  Module module = text::parse(kSymbolicProgram, "test");
  module.facts.bounds["m"] = 8;
  EXPECT_NO_THROW(specialize(module, "main", {{"m", 8}}));
  expect_user_error([&] { specialize(module, "main", {{"m", 9}}); },
                    {"above the variable's bound", "variable m", "m <= 8", "9"});
}

TEST(Specialize, InsideBranchesToo) {
  Module module = specialize(text::parse(R"(
def main(x: Tensor((n,), f32), c: Tensor((), bool)) -> Tensor(ndim=1, f32) {
  r: Tensor(ndim=1, f32) = if (c) {
    y: Tensor((m,), f32) = match_cast(x, Tensor((m,), f32))
    a: Tensor((m + n,), f32) = concat((x, y)) {axis: 0}
    yield a
  } else {
    yield x
  }
  return r
}
)",
                                         "test"),
                             "main", {{"n", 7}});
  analysis::verify(module);
  build::check_annotations(module);
  EXPECT_NE(text::print(module).find("a: Tensor((m + 7,), f32) = concat((x, y))"),
            std::string::npos)
      << text::print(module);
}

TEST(Specialize, RefusesUnknownVariables) {
  Module module = text::parse(kSymbolicProgram, "test");
  expect_user_error([&] { specialize(module, "min", {{"n", 1}}); },
                    {"there is no function to specialize", "expected: main", "found: min"});
  expect_user_error([&] { specialize(module, "main", {{"N", 1}}); },
                    {"no such symbolic variable", "expected: batch, m, n, k", "found: N"});
  expect_user_error([&] { specialize(module, "main", {{"n", -1}}); },
                    {"a dimension cannot be negative", "variable n", "found: -1"});
}

}  // namespace
}  // namespace tapml::passes
