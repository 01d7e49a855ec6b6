// Kernels with marked weights.
#include "passes/mark_weights.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "checked.h"

namespace tapml::passes {
namespace {

std::optional<std::vector<int64_t>> weights_of(const Module& module, const std::string& function) {
  return module.find(function)->facts.weights;
}

TEST(MarkWeights, SpecificationAndLoopsNameTheParameter) {
  const Module module = checked(mark_weights(fused(R"(
module {model.weights: ["w"]}
def main(x: Tensor((n, 2), f32), w: Tensor((2, 2), f32)) -> Tensor((n, 2), f32) {
  dataflow {
    y: Tensor((n, 2), f32) = matmul(x, w)
    output y
  }
  return y
}
)")));
  const std::vector<int64_t> second = {1};
  EXPECT_EQ(weights_of(module, "matmul_cfd904be"), second);
  EXPECT_EQ(weights_of(module, "matmul_cfd904be_impl"), second);
  const Module unmarked = checked(unmark_weights(module));
  EXPECT_EQ(weights_of(unmarked, "matmul_cfd904be"), std::nullopt);
  EXPECT_EQ(weights_of(unmarked, "matmul_cfd904be_impl"), std::nullopt);
}

// The second call passes a tensor that is not a weight for the same parameter.
TEST(MarkWeights, AllCallsHaveToAgree) {
  const Module module = checked(mark_weights(fused(R"(
module {model.weights: ["w"]}
def main(x: Tensor((2, 2), f32), w: Tensor((2, 2), f32)) -> Tensor((2, 2), f32) {
  dataflow {
    y: Tensor((2, 2), f32) = matmul(x, w)
    z: Tensor((2, 2), f32) = matmul(x, y)
    output z
  }
  return z
}
)")));
  EXPECT_EQ(weights_of(module, "matmul_a1bd0b1a"), std::nullopt);
  EXPECT_EQ(weights_of(module, "matmul_a1bd0b1a_impl"), std::nullopt);
}

}  // namespace
}  // namespace tapml::passes
