// Simplification: programs before and after, and what must stay.
#include "passes/simplify_graph.h"

#include <gtest/gtest.h>

#include "analysis/verifier.h"
#include "checked.h"
#include "passes/dead_code.h"
#include "relax/visit.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::passes {
namespace {

// Both as text; bindings that become unused are removed.
void expect_simplified(Pass pass, const std::string& before, const std::string& after) {
  Module module =
      checked(eliminate_dead_code(checked(pass(checked(text::parse(before, "before"))))));
  EXPECT_EQ(text::print(module), text::print(text::parse(after, "after")));
}

// The bindings of a dataflow block over x and y, of which the last is the result.
std::string program(const std::string& bindings, const std::string& result,
                    const std::string& annotation = "Tensor((n, 4), f32)") {
  return "def main(x: Tensor((n, 4), f32), y: Tensor((n, 4), f32)) -> " + annotation +
         " {\n  dataflow {\n" + bindings + "    output " + result + "\n  }\n  return " + result +
         "\n}\n";
}

struct Case {
  const char* name;
  const char* before;  // bindings; the last one is r
  const char* after;
};

class Simplify : public ::testing::TestWithParam<Case> {};

TEST_P(Simplify, Becomes) {
  expect_simplified(simplify_graph, program(GetParam().before, "r"),
                    program(GetParam().after, "r"));
}

INSTANTIATE_TEST_SUITE_P(
    Rules, Simplify,
    ::testing::Values(
        Case{"ReshapeOfReshape",
             "a: Tensor((4*n,), f32) = reshape(x, shape(4*n))\n"
             "b: Tensor((2, 2*n), f32) = reshape(a, shape(2, 2*n))\n"
             "c: Tensor((4, n), f32) = reshape(b, shape(4, n))\n"
             "d: Tensor((4, n), f32) = exp(c)\n"
             "r: Tensor((n, 4), f32) = reshape(d, shape(n, 4))\n",
             "c: Tensor((4, n), f32) = reshape(x, shape(4, n))\n"
             "d: Tensor((4, n), f32) = exp(c)\n"
             "r: Tensor((n, 4), f32) = reshape(d, shape(n, 4))\n"},
        Case{"ReshapeThereAndBack",
             "a: Tensor((4*n,), f32) = reshape(x, shape(4*n))\n"
             "b: Tensor((n, 4), f32) = reshape(a, shape(n, 4))\n"
             "r: Tensor((n, 4), f32) = add(b, y)\n",
             "r: Tensor((n, 4), f32) = add(x, y)\n"},
        Case{"SqueezeIsAView",
             "a: Tensor((n, 1, 4), f32) = expand_dims(x) {axes: [1]}\n"
             "b: Tensor((n, 1, 4), f32) = exp(a)\n"
             "r: Tensor((n, 4), f32) = squeeze(b) {axes: [1]}\n",
             "a: Tensor((n, 1, 4), f32) = reshape(x, shape(n, 1, 4))\n"
             "b: Tensor((n, 1, 4), f32) = exp(a)\n"
             "r: Tensor((n, 4), f32) = reshape(b, shape(n, 4))\n"},
        Case{"PermutesCancelOut",
             "a: Tensor((4, n), f32) = permute(x) {axes: [1, 0]}\n"
             "b: Tensor((n, 4), f32) = permute(a) {axes: [1, 0]}\n"
             "r: Tensor((n, 4), f32) = add(b, y)\n",
             "r: Tensor((n, 4), f32) = add(x, y)\n"},
        Case{"MatmulTakesTransposes",
             "t: Tensor((4, n), f32) = permute(y) {axes: [1, 0]}\n"
             "a: Tensor((n, n), f32) = matmul(x, t)\n"
             "b: Tensor((n, n), f32) = permute(a) {axes: [1, 0]}\n"
             "r: Tensor((n, 4), f32) = matmul(b, x)\n",
             "a: Tensor((n, n), f32) = matmul(x, y) {transpose_b: true}\n"
             "r: Tensor((n, 4), f32) = matmul(a, x) {transpose_a: true}\n"},
        Case{"NeutralOperands",
             "a: Tensor((n, 4), f32) = multiply(x, const(f32, (), [1.0]))\n"
             "b: Tensor((n, 4), f32) = subtract(a, const(f32, (4,), [0.0, 0.0, 0.0, 0.0]))\n"
             "c: Tensor((n, 4), f32) = add(const(f32, (), [-0.0]), b)\n"
             "d: Tensor((n, 4), f32) = divide(c, const(f32, (), [1.0]))\n"
             "r: Tensor((n, 4), f32) = add(d, y)\n",
             "r: Tensor((n, 4), f32) = add(x, y)\n"},
        Case{"WhatIsNotNeutral",
             // Adding 0.0 turns -0.0 into 0.0, -0.0 - x is not x, and the result is wider.
             "a: Tensor((n, 4), f32) = add(x, const(f32, (), [0.0]))\n"
             "b: Tensor((n, 4), f32) = subtract(const(f32, (), [0.0]), a)\n"
             "c: Tensor((3, n, 4), f32) = multiply(b, const(f32, (3, 1, 1), [1.0, 1.0, 1.0]))\n"
             "r: Tensor((n, 4), f32) = sum(c) {axes: [0]}\n",
             "a: Tensor((n, 4), f32) = add(x, const(f32, (), [0.0]))\n"
             "b: Tensor((n, 4), f32) = subtract(const(f32, (), [0.0]), a)\n"
             "c: Tensor((3, n, 4), f32) = multiply(b, const(f32, (3, 1, 1), [1.0, 1.0, 1.0]))\n"
             "r: Tensor((n, 4), f32) = sum(c) {axes: [0]}\n"},
        Case{"CastsThroughAWiderType",
             "a: Tensor((n, 4), f64) = cast(x) {dtype: f64}\n"
             "b: Tensor((n, 4), f32) = cast(a) {dtype: f32}\n"
             "c: Tensor((n, 4), f16) = cast(b) {dtype: f16}\n"
             "d: Tensor((n, 4), f32) = cast(c) {dtype: f32}\n"
             "r: Tensor((n, 4), f32) = add(d, y)\n",
             "c: Tensor((n, 4), f16) = cast(x) {dtype: f16}\n"
             "d: Tensor((n, 4), f32) = cast(c) {dtype: f32}\n"
             "r: Tensor((n, 4), f32) = add(d, y)\n"},
        Case{"PairsAndRepetitions",
             "a: Tensor((n, 4), f32) = negative(x)\n"
             "b: Tensor((n, 4), f32) = negative(a)\n"
             "c: Tensor((n, 4), f32) = relu(b)\n"
             "d: Tensor((n, 4), f32) = relu(c)\n"
             "e: Tensor((n, 4), f32) = maximum(d, d)\n"
             "r: Tensor((n, 4), f32) = add(e, y)\n",
             "c: Tensor((n, 4), f32) = relu(x)\n"
             "r: Tensor((n, 4), f32) = add(c, y)\n"},
        Case{"TheResultTakesTheName",
             "a: Tensor((n, 4), f32) = add(x, y)\n"
             "b: Tensor((n, 4), f32) = exp(a)\n"
             "c: Tensor((n, 4), f32) = exp(b)\n"
             "d: Tensor((n, 4), f32) = add(b, c)\n"
             "e: Tensor((n, 4), f32) = negative(d)\n"
             "r: Tensor((n, 4), f32) = negative(e)\n",
             "a: Tensor((n, 4), f32) = add(x, y)\n"
             "b: Tensor((n, 4), f32) = exp(a)\n"
             "c: Tensor((n, 4), f32) = exp(b)\n"
             "r: Tensor((n, 4), f32) = add(b, c)\n"},
        Case{"FieldsOfTuplesAndNames",
             "t: Tuple(Tensor((n, 4), f32), Tensor((n, 4), f32)) = (x, y)\n"
             "u: Tensor((n, 4), f32) = t[1]\n"
             "v: Tensor((n, 4), f32) = u\n"
             "r: Tensor((n, 4), f32) = exp(v)\n",
             "r: Tensor((n, 4), f32) = exp(y)\n"},
        Case{"CastsOfShapesThatHold",
             "a: Tensor((n, 4), f32) = match_cast(x, Tensor((n, 4), f32))\n"
             "b: Tensor((m, 4), f32) = match_cast(a, Tensor((m, 4), f32))\n"
             "c: Tensor((n, 4), f32) = match_cast(b, Tensor((n, 4), f32))\n"
             "r: Tensor((n, 4), f32) = add(c, y)\n",
             "b: Tensor((m, 4), f32) = match_cast(x, Tensor((m, 4), f32))\n"
             "c: Tensor((n, 4), f32) = match_cast(b, Tensor((n, 4), f32))\n"
             "r: Tensor((n, 4), f32) = add(c, y)\n"},
        Case{"WholeSlices",
             "a: Tensor((n, 4), f32) = slice(x, shape(0, 0), shape(n, 4))\n"
             "b: Tensor((n, 3), f32) = slice(a, shape(0, 0), shape(n, 3))\n"
             "c: Tensor((n, 4), f32) = pad(b) {widths: [0, 0, 0, 1]}\n"
             "d: Tensor((n, 4), f32) = concat((c,)) {axis: 0}\n"
             "r: Tensor((n, 4), f32) = add(d, y)\n",
             "b: Tensor((n, 3), f32) = slice(x, shape(0, 0), shape(n, 3))\n"
             "c: Tensor((n, 4), f32) = pad(b) {widths: [0, 0, 0, 1]}\n"
             "r: Tensor((n, 4), f32) = add(c, y)\n"}),
    [](const auto& info) { return info.param.name; });

// The variable's annotation is no more precise than the value's, and the cast names symbols that
// the value has.
TEST(SimplifyGraph, CastsThatDefineUsedSymbolsStay) {
  const char* program = R"(
def next(a: Prim(i64, n)) -> Prim(i64) {
  return prim(n + 1)
}
def main(a: Prim(i64, n)) -> Prim(i64) {
  b: Prim(i64) = @next(prim(n - 1))
  c: Prim(i64) = match_cast(b, Prim(i64, p))
  return prim(n*p)
}
)";
  expect_simplified(simplify_graph, program, program);
}

}  // namespace
}  // namespace tapml::passes
