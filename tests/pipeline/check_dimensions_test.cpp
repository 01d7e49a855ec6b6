// Programs that cannot be intended are errors of the text, with their position.
#include <gtest/gtest.h>

#include "pipeline/check_input.h"
#include "support/expect_error.h"
#include "text/parser.h"

namespace tapml {
namespace {

void expect_text_refused(const std::string& text, const std::vector<std::string>& parts) {
  SCOPED_TRACE(text);
  testing::expect_user_error(
      [&] {
        text::SourceMap places;
        pipeline::normal_input(text::parse(text, "test", {.places = &places}), "test", &places);
      },
      parts);
}

// A function over one tensor whose first dimension is `dim`.
std::string function_over(const std::string& dim) {
  return "def f(x: Tensor((n, " + dim + "), f32)) -> Object { return x }";
}

TEST(CheckDimensions, NoDimensionIsANegativeConstant) {
  expect_text_refused(function_over("-4"), {"'x' is negative", "0 or more", "-4", "test:1:5"});
  expect_text_refused(function_over("2 - 7"), {"'x' is negative", "-5"});
  expect_text_refused("def f(x: Tensor((n,), f32)) -> Tensor((-1,), f32) { return x }",
                      {"the result of @f is negative"});
  expect_text_refused(
      "def f(x: Object) -> Object { y: Tensor((n, -2), f32) = "
      "match_cast(x, Tensor((n, -2), f32)) return y }",
      {"'y' is negative"});
  expect_text_refused(
      "def f(t: Tuple(Tensor((4,), f32), Tensor((-3,), f32))) -> Object { return t }",
      {"'t' is negative"});
  expect_text_refused("prim def k(out y: Buffer((-4,), f32)) { y[0] = f32(0) }",
                      {"buffer y is negative"});
}

TEST(CheckDimensions, NoDimensionDividesByZero) {
  expect_text_refused(function_over("n // 0"), {"'x' divides by zero", "n//0"});
  expect_text_refused(function_over("n % (2 - 2)"), {"'x' divides by zero"});
}

TEST(CheckInput, AttributesOfAModuleHaveTheirTypes) {
  const std::string function = "def f(x: Tensor((n,), f32)) -> Object { return x }";
  expect_text_refused("module {model.weights: 3}\n" + function,
                      {"attribute model.weights", "a list of strings", "an integer"});
  expect_text_refused("module {model.context: \"many\"}\n" + function,
                      {"attribute model.context", "an integer", "a string"});
  expect_text_refused("module {phase: 1}\n" + function, {"attribute phase", "a string"});
  expect_text_refused("module {bound.n: -1}\n" + function,
                      {"bound.n is not a bound", "0 or more", "-1"});
  expect_text_refused("module {bound.n: \"a\"}\n" + function,
                      {"bound.n is not a bound", "a string"});
}

TEST(CheckInput, CustomAttributesMayBeAnything) {
  text::SourceMap places;
  const std::string text =
      "module {model.weights: [], bound.n: 0, note: 1.5}\n"
      "def f(x: Tensor((n, 0, n - 4), f32)) -> Object { return x }";
  EXPECT_NO_THROW(pipeline::normal_input(text::parse(text, "test", {.places = &places}), "test"));
}

TEST(CheckInput, ABarrierMustBeInALoopOverThreads) {
  expect_text_refused(
      "prim def k(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {\n"
      "  for i in parallel(n) { y[i] = x[i] }\n  barrier\n}",
      {"T12", "a barrier is outside a loop over threads", "test:3:3"});
}

}  // namespace
}  // namespace tapml
