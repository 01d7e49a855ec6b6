// Programs that legalization rejects.
#include "passes/legalize.h"

#include <gtest/gtest.h>

#include "checked.h"
#include "support/expect_error.h"
#include "text/parser.h"
#include "text/printer.h"

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

// A variable without information: the operator knows how many tensors there are.
TEST(Legalize, ResultsOfVariablesWithoutInformation) {
  const Module module = text::parse(
      "def main(x: Tensor((6, 2), f32)) -> Object {\n"
      "  dataflow {\n"
      "    e: Object = exp(x)\n"
      "    parts: Object = split(x) {axis: 0, sizes: [4, 2]}\n"
      "    one: Object = split(x) {axis: 0, sizes: [6]}\n"
      "    t: Object = (e, parts, one)\n"
      "    output t\n"
      "  }\n"
      "  return t\n"
      "}",
      "m.txt");
  const std::string text = text::print(checked(legalize(module)));
  for (const char* part : {"(x,), Tensor((6, 2), f32))",
                           "(x,), Tensor((4, 2), f32), Tensor((2, 2), f32))", "= (one_0,)"}) {
    EXPECT_NE(text.find(part), std::string::npos) << "no " << part << " in\n" << text;
  }
}

}  // namespace
}  // namespace tapml::passes
