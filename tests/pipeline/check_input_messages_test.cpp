// Complete messages about modules that parse but are invalid: the line, a caret, what was expected
// and what was found.
#include <gtest/gtest.h>

#include "ir/exceptions.h"
#include "main_head.h"
#include "pipeline/check_input.h"
#include "text/parser.h"

namespace tapml::pipeline {
namespace {

using testing::kMainHead;

struct Case {
  const char* name;
  std::string text;
  const char* message;
};

const Case kCases[] = {
    {"UnknownOperator", kMainHead + "  y: Tensor((n, 4), f32) = slu(x)\n  return y\n}",
     R"(no operator is called 'slu'
  where: m.txt:2:28
      y: Tensor((n, 4), f32) = slu(x)
                               ^
  expected: an operator of docs/operators.md
  found: slu
  hint: did you mean 'silu'?)"},
    {"ShapeMismatch",
     "def main(x: Tensor((n, 4), f32), w: Tensor((5, 8), f32)) -> Tensor((n, 8), f32) {\n"
     "  dataflow {\n    y: Tensor((n, 8), f32) = matmul(x, w)\n    output y\n  }\n  return y\n}",
     R"(matmul: the reduced dimensions of a and b differ
  where: m.txt:3:30
        y: Tensor((n, 8), f32) = matmul(x, w)
                                 ^
  expected: 4 (from a)
  found: 5 (from b))"},
    {"WrongAnnotation", kMainHead + "  y: Tensor((n, 5), f32) = silu(x)\n  return x\n}",
     R"(the annotation of 'y' is not the one of its value
  where: m.txt:2:6
      y: Tensor((n, 5), f32) = silu(x)
         ^
  expected: Tensor((n, 4), f32)
  found: Tensor((n, 5), f32))"},
    {"WrongResult", "def main(x: Tensor((n, 4), f32)) -> Tensor((n, 8), f32) {\n  return x\n}",
     R"(the function 'main' does not return a value of its declared type
  where: m.txt:1:37
    def main(x: Tensor((n, 4), f32)) -> Tensor((n, 8), f32) {
                                        ^
  expected: Tensor((n, 4), f32)
  found: Tensor((n, 8), f32))"},
    {"WrongArgumentCount", kMainHead + "  y: Tensor((n, 4), f32) = silu(x, x)\n  return y\n}",
     R"(silu: wrong number of arguments
  where: m.txt:2:28
      y: Tensor((n, 4), f32) = silu(x, x)
                               ^
  expected: 1 (x)
  found: 2)"},
    {"UnknownAttribute",
     kMainHead + "  y: Tensor((n, 4), f32) = softmax(x) {axes: 1}\n  return y\n}",
     R"(softmax: no attribute is called 'axes'
  where: m.txt:2:28
      y: Tensor((n, 4), f32) = softmax(x) {axes: 1}
                               ^
  expected: axis
  found: axes)"},
    {"WrongAttribute",
     kMainHead + "  y: Tensor((n, 4), f32) = softmax(x) {axis: \"last\"}\n  return y\n}",
     R"(softmax: attribute 'axis' has the wrong type
  where: m.txt:2:28
      y: Tensor((n, 4), f32) = softmax(x) {axis: "last"}
                               ^
  expected: an integer
  found: a string)"},
    {"AxisOutOfRange", kMainHead + "  y: Tensor((n, 4), f32) = softmax(x) {axis: 2}\n  return y\n}",
     R"(softmax: axis is outside the tensor
  where: m.txt:2:28
      y: Tensor((n, 4), f32) = softmax(x) {axis: 2}
                               ^
  expected: an axis from -2 to 1
  found: 2)"},
    {"WrongDTypeAnnotation",
     "def main(x: Tensor((n,), i32)) -> Tensor((n,), i32) {\n"
     "  y: Tensor((n,), i32) = exp(x)\n  return y\n}",
     R"(the annotation of 'y' is not the one of its value
  where: m.txt:2:6
      y: Tensor((n,), i32) = exp(x)
         ^
  expected: Tensor((n,), f32)
  found: Tensor((n,), i32))"},
    {"UndefinedFunction", kMainHead + "  y: Tensor((n, 4), f32) = @nope(x)\n  return y\n}",
     R"(the module breaks invariant R5 in main, binding y: no function is called @nope
  where: m.txt:2:28
      y: Tensor((n, 4), f32) = @nope(x)
                               ^)"},
    {"NestedCall", kMainHead + "  y: Tensor((n, 4), f32) = silu(silu(x))\n  return y\n}",
     R"(the module breaks invariant R4 in main, binding y: an argument is not an atom: silu(x)
  where: m.txt:2:28
      y: Tensor((n, 4), f32) = silu(silu(x))
                               ^)"},
    {"StoreOfAnotherDType",
     "prim def k(a: Buffer((4,), i32), out b: Buffer((4,), f32)) {\n"
     "  for i in serial(4) {\n    b[i] = a[i]\n  }\n}",
     R"(the module breaks invariant T3 in k, for i: a value of dtype i32 is stored to 'b' of dtype f32
  where: m.txt:3:5
        b[i] = a[i]
        ^)"},
    {"KernelWithoutLoops",
     "def k(x: Tensor((4,), f32)) -> Tensor((4,), f32) {kernel: true} {\n"
     "  y: Tensor((4,), f32) = silu(x)\n  return y\n}",
     R"(kernel @k has no implementation
  where: m.txt:1:5
    def k(x: Tensor((4,), f32)) -> Tensor((4,), f32) {kernel: true} {
        ^
  expected: a tensor program @k_impl, named by the attribute "implementation"
  found: no such attribute)"},
};

class CheckInputMessage : public ::testing::TestWithParam<Case> {};

TEST_P(CheckInputMessage, IsComplete) {
  const Case& c = GetParam();
  text::SourceMap places;
  const Module module = text::parse(c.text, "m.txt", {.places = &places});
  try {
    check_input(module, "m.txt", &places);
    ADD_FAILURE() << "accepted:\n" << c.text;
  } catch (const CompilerException& e) {
    EXPECT_EQ(e.error().kind, ErrorKind::kUser);
    EXPECT_EQ(e.error().to_string(), c.message);
  }
}

INSTANTIATE_TEST_SUITE_P(All, CheckInputMessage, ::testing::ValuesIn(kCases),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tapml::pipeline
