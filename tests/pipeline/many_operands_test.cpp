// Operators with thousands of operands and results: quadratic work would take minutes.
#include <gtest/gtest.h>

#include "passes/kernel.h"
#include "pipeline/run_module.h"

namespace tapml::pipeline {
namespace {

using testing::parse_input;

std::string repeated(const std::string& text, int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += (i == 0 ? "" : ", ") + text;
  return all;
}

std::shared_ptr<const Executable> compiled(const Module& module) {
  return compile(module, target::parse_target("null"));
}

TEST(ManyOperands, ASplitOf4000Results) {
  constexpr int kResults = 4000;
  const std::string tuple = "Tuple(" + repeated("Tensor((1, m), f32)", kResults) + ")";
  const auto executable =
      compiled(parse_input("def main(x: Tensor((4000, m), f32)) -> " + tuple + " {\n  y: " + tuple +
                           " = split(x) {axis: 0, sections: 4000}\n  return y\n}\n"));
  ASSERT_EQ(executable->kernels.size(), 1u);
  EXPECT_EQ(executable->kernels[0].params.size(), 1u + kResults);
}

// Each result is used, and the values are concatenated again.
TEST(ManyOperands, ResultsThatAreUsedAndJoinedAgain) {
  constexpr int kResults = 4000;
  std::string text =
      "def main(x: Tensor((4000, m), f32)) -> Tensor((4000, m), f32) {\n  dataflow {\n"
      "    y: Tuple(" +
      repeated("Tensor((1, m), f32)", kResults) + ") = split(x) {axis: 0, sections: 4000}\n";
  std::string joined;
  for (int i = 0; i < kResults; ++i) {
    const std::string n = std::to_string(i);
    text += "    a" + n + ": Tensor((1, m), f32) = y[" + n + "]\n    b" + n +
            ": Tensor((1, m), f32) = exp(a" + n + ")\n";
    joined += (i == 0 ? "b" : ", b") + n;
  }
  text += "    z: Tensor((4000, m), f32) = concat((" + joined +
          ")) {axis: 0}\n    output z\n  }\n  return z\n}\n";
  const auto executable = compiled(parse_input(text));
  // A split, an exp that may be fused into the concats, and the concats.
  EXPECT_LT(executable->kernels.size(), 20u);
  EXPECT_GT(executable->call_sites.size(), 1000u);
}

// As many terms as a sum in the text may have.
TEST(ManyOperands, AConcatOf900SymbolicSizes) {
  constexpr int kTensors = 900;
  std::string params, sum, operands;
  for (int i = 0; i < kTensors; ++i) {
    const std::string n = std::to_string(i);
    params += (i == 0 ? "x" : ", x") + n + ": Tensor((n" + n + ",), f32)";
    sum += (i == 0 ? "n" : " + n") + n;
    operands += (i == 0 ? "x" : ", x") + n;
  }
  const std::string result = "Tensor((" + sum + ",), f32)";
  const Module module = parse_input("def main(" + params + ") -> " + result + " {\n  y: " + result +
                                    " = concat((" + operands + ")) {axis: 0}\n  return y\n}\n");
  const auto executable = compiled(module);
  EXPECT_GE(executable->call_sites.size(), 180u);
  // The sum does not depend on the order.
  std::vector<HostTensor> inputs;
  for (int i = 0; i < kTensors; ++i) {
    inputs.push_back(testing::f32(
        {i % 2 + 1}, std::vector<float>(static_cast<size_t>(i % 2 + 1), static_cast<float>(i))));
  }
  const auto outputs = testing::interpret_module(module, inputs);
  ASSERT_EQ(outputs.size(), 1u);
  ASSERT_EQ(outputs[0].shape, (Shape{kTensors / 2 * 3}));
  EXPECT_EQ(outputs[0].values[0], 0);
  EXPECT_EQ(outputs[0].values[1], 1);
  EXPECT_EQ(outputs[0].values[2], 1);
  EXPECT_EQ(outputs[0].values[1349], 899);
}

}  // namespace
}  // namespace tapml::pipeline
