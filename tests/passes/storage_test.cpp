// Passes over functions with writes.
#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "build/block_builder.h"
#include "checked.h"
#include "passes/common_subexpressions.h"
#include "passes/inline_functions.h"
#include "passes/simplify_graph.h"
#include "relax/visit.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::passes {
namespace {

// The result of this pass alone, compared by structure.
void expect_result(Pass pass, const std::string& before, const std::string& after) {
  Module result = pass(text::parse(before, "before"));
  analysis::verify(result, "pass");
  build::check_annotations(result, "pass");
  EXPECT_TRUE(text::structural_equal(result, text::parse(after, "after"))) << text::print(result);
}

TEST(Storage, ValuesThatNoWriteReachesAreSimplified) {
  expect_result(simplify_graph, R"(
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  a: Tensor((n,), f32) = exp(x)
  b: Tensor((n,), f32) = multiply(a, const(f32, (), [1.0]))
  c: Tensor((n,), f32) = tanh(b)
  w: Tuple() = assign(y, c)
  return w
})",
                R"(
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  a: Tensor((n,), f32) = exp(x)
  c: Tensor((n,), f32) = tanh(a)
  w: Tuple() = assign(y, c)
  return w
})");
}

TEST(Storage, ATensorThatIsWrittenKeepsItsOwnStorage) {
  const char* text = R"(
impure def main(x: Tensor((n,), f32)) -> Object {
  a: Tensor((n,), f32) = exp(x)
  b: Tensor((n,), f32) = multiply(a, const(f32, (), [1.0]))
  v: Tensor((n,), f32) = view_slice(b, shape(0), shape(n))
  w: Tuple() = assign(v, x)
  c: Tensor((n,), f32) = tanh(a)
  return c
})";
  expect_result(simplify_graph, text, text);
}

TEST(Storage, ReadsDoNotMoveAcrossWrites) {
  const char* text = R"(
impure def main(x: Tensor((n, m), f32), y: Tensor((n, m), f32)) -> Object {
  a: Tensor((n, m), f32) = exp(x)
  p: Tensor((m, n), f32) = permute(a) {axes: [1, 0]}
  w: Tuple() = assign(a, y)
  q: Tensor((n, m), f32) = permute(p) {axes: [1, 0]}
  r: Tensor((n, m), f32) = tanh(q)
  return r
})";
  expect_result(simplify_graph, text, text);
}

TEST(Storage, TensorsThatTheCallerMayWriteAreNotAliased) {
  const char* text = R"(
def same(x: Tensor((n,), f32)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = multiply(x, const(f32, (), [1.0]))
  return y
}
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  z: Tensor((n,), f32) = @same(x)
  w: Tuple() = assign(x, y)
  return z
})";
  expect_result(simplify_graph, text, text);
}

TEST(Storage, EqualCallsAreMergedWithoutWrites) {
  expect_result(eliminate_common_subexpressions, R"(
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  s: Tensor((n,), f32) = full(shape(n)) {value: 2.0, dtype: f32}
  a: Tensor((n,), f32) = exp(s)
  w: Tuple() = assign(y, a)
  b: Tensor((n,), f32) = exp(s)
  c: Tensor((n,), f32) = tanh(b)
  d: Tensor((n,), f32) = exp(y)
  e: Tensor((n,), f32) = add(c, d)
  return e
})",
                R"(
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  s: Tensor((n,), f32) = full(shape(n)) {value: 2.0, dtype: f32}
  a: Tensor((n,), f32) = exp(s)
  w: Tuple() = assign(y, a)
  c: Tensor((n,), f32) = tanh(a)
  d: Tensor((n,), f32) = exp(y)
  e: Tensor((n,), f32) = add(c, d)
  return e
})");
}

TEST(Storage, EqualCallsAroundAWriteStay) {
  const char* text = R"(
impure def main(x: Tensor((n,), f32), y: Tensor((n,), f32)) -> Object {
  a: Tensor((n,), f32) = exp(x)
  w: Tuple() = assign(x, y)
  b: Tensor((n,), f32) = exp(x)
  c: Tensor((n,), f32) = add(a, b)
  return c
})";
  expect_result(eliminate_common_subexpressions, text, text);
}

TEST(Storage, AConstantThatAnInlinedFunctionWritesIsAVariable) {
  const std::string write = R"(
impure def write(a: Tensor((2,), f32), x: Tensor((2,), f32)) -> Tensor((2,), f32) {inline: true} {
  w: Tuple() = assign(a, x)
  return a
})";
  expect_result(inline_functions, R"(
impure def main(x: Tensor((2,), f32)) -> Object {
  a: Tensor((2,), f32) = @write(const(f32, (2,), [1.0, 2.0]), x)
  return a
})" + write,
                R"(
impure def main(x: Tensor((2,), f32)) -> Object {
  c: Tensor((2,), f32) = const(f32, (2,), [1.0, 2.0])
  w: Tuple() = assign(c, x)
  a: Tensor((2,), f32) = c
  return a
})" + write);
}

}  // namespace
}  // namespace tapml::passes
