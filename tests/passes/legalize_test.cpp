// What legalization refuses.
#include "passes/legalize.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "text/parser.h"

namespace tapml::passes {
namespace {

TEST(Legalize, NamesTheOperandWithoutAShape) {
  const Module module = text::parse(
      "def main(x: Tensor(ndim=1, f32)) -> Tensor(ndim=1, f32) {\n"
      "  y: Tensor(ndim=1, f32) = exp(x)\n"
      "  return y\n"
      "}",
      "m.txt");
  testing::expect_user_error(
      [&] { legalize(module); },
      {"an argument of exp has no known shape and dtype", "operand x of exp in binding y of main",
       "expected: Tensor(shape, dtype)", "found: Tensor(ndim=1, f32)", "a match_cast before"});
}

TEST(Legalize, NamesTheFieldWithoutAShape) {
  const Module module = text::parse(
      "def main(a: Tensor((2,), f32), b: Tensor(ndim=1, f32)) -> Tensor(ndim=1, f32) {\n"
      "  y_0: Tensor(ndim=1, f32) = concat((a, b)) {axis: 0} @check(\"\", \"y\", \"inner\")\n"
      "  return y_0\n"
      "}",
      "m.txt");
  testing::expect_user_error([&] { legalize(module); },
                             {"operand xs[1] of concat in binding y of inner"});
}

}  // namespace
}  // namespace tapml::passes
