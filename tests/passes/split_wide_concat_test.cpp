// Concats of many operands: programs before and after the pass.
#include "passes/split_wide_concat.h"

#include <gtest/gtest.h>

#include <set>

#include "checked.h"
#include "text/structural.h"

namespace tapml::passes {
namespace {

TEST(SplitWideConcat, SixOperandsAreTwoConcats) {
  expect_becomes(split_wide_concat, R"(
def main(a: Tensor((1,), f32), b: Tensor((2,), f32), c: Tensor((3,), f32), d: Tensor((4,), f32), e: Tensor((5,), f32), f: Tensor((6,), f32)) -> Tensor((21,), f32) {
  dataflow {
    y: Tensor((21,), f32) = concat((a, b, c, d, e, f)) {axis: 0}
    output y
  }
  return y
}
)",
                 R"(
def main(
    a: Tensor((1,), f32),
    b: Tensor((2,), f32),
    c: Tensor((3,), f32),
    d: Tensor((4,), f32),
    e: Tensor((5,), f32),
    f: Tensor((6,), f32)
) -> Tensor((21,), f32) {
  dataflow {
    y_part: Tensor((15,), f32) = concat((a, b, c, d, e)) {axis: 0} @check("", "y")
    y: Tensor((21,), f32) = concat((y_part, f)) {axis: 0}
    output y
  }
  return y
}
)");
}

TEST(SplitWideConcat, FiveOperandsStay) {
  expect_stays(split_wide_concat, R"(
def main(a: Tensor((n,), f32), b: Tensor((2,), f32)) -> Tensor((n + 8,), f32) {
  dataflow {
    y: Tensor((n + 8,), f32) = concat((a, b, b, b, b)) {axis: 0}
    output y
  }
  return y
}
)");
}

TEST(SplitWideConcat, KeepsEveryKernelWithinSixTensors) {
  Module module = split_wide_concat(text::parse(R"(
def main(a: Tensor((n,), f32), b: Tensor((2,), f32)) -> Tensor((n * 2 + 10,), f32) {
  dataflow {
    y: Tensor((n * 2 + 10,), f32) = concat((a, b, b, b, b, b, a)) {axis: 0}
    output y
  }
  return y
}
)",
                                                "test"));
  Module expected = text::parse(R"(
def main(a: Tensor((n,), f32), b: Tensor((2,), f32)) -> Tensor((n * 2 + 10,), f32) {
  dataflow {
    part: Tensor((n + 8,), f32) = concat((a, b, b, b, b)) {axis: 0}
    y: Tensor((n * 2 + 10,), f32) = concat((part, b, a)) {axis: 0}
    output y
  }
  return y
}
)",
                                "expected");
  std::string difference;
  EXPECT_TRUE(text::structural_equal(module, expected, {.difference = &difference})) << difference;
  build::check_annotations(module);
}

// Wide ones become trees: an element is copied once per level of the tree.
TEST(SplitWideConcat, CopiesNoElementOften) {
  constexpr int kOperands = 2000;
  std::string operands;
  for (int i = 0; i < kOperands; ++i)
    operands += std::string(i > 0 ? ", " : "") + (i % 2 ? "a" : "b");
  const std::string result = "Tensor((" + std::to_string(3 * kOperands) + ",), f32)";
  Module module = split_wide_concat(
      text::parse("def main(a: Tensor((2,), f32), b: Tensor((4,), f32)) -> " + result +
                      " {\n  dataflow {\n    y: " + result + " = concat((" + operands +
                      ")) {axis: 0}\n    output y\n  }\n  return y\n}\n",
                  "test"));
  build::check_annotations(module);
  int64_t copied = 0;
  std::set<std::string> shapes;
  relax::visit_bindings(relax::as_relax_function(module.find("main"))->body,
                        [&](const relax::Binding& binding, bool) {
                          const auto& operands_of = *relax::as<relax::TupleNode>(
                              relax::as<relax::CallNode>(binding.value)->args[0]);
                          EXPECT_LE(operands_of.fields.size(), kConcatOperands);
                          const auto& tensor = *relax::as_tensor(binding.var->annotation);
                          copied += (*tensor.shape)[0]->int_value;
                          shapes.insert(text::print((*tensor.shape)[0]));
                        });
  EXPECT_LE(copied, 5 * 3 * kOperands);
  EXPECT_LE(shapes.size(), 16u);  // equal parts are one kernel
}

}  // namespace
}  // namespace tapml::passes
