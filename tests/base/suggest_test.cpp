#include "base/suggest.h"

#include <gtest/gtest.h>

namespace tapml {
namespace {

TEST(NearestName, FindsSmallSlips) {
  const std::vector<std::string_view> names = {"matmul", "softmax", "exp", "log", "log2", "x"};
  EXPECT_EQ(nearest_name("matmull", names), "matmul");
  EXPECT_EQ(nearest_name("mtamul", names), "matmul");
  EXPECT_EQ(nearest_name("Matmul", names), "matmul");
  EXPECT_EQ(nearest_name("sofmax", names), "softmax");
  EXPECT_EQ(nearest_name("exq", names), "exp");
  EXPECT_EQ(nearest_name("log1", names), "log");
  EXPECT_EQ(nearest_name("X", names), "x");
}

TEST(NearestName, OffersNoDistantNames) {
  const std::vector<std::string_view> names = {"matmul", "ab", "x", ""};
  EXPECT_EQ(nearest_name("conv2d", names), "");
  EXPECT_EQ(nearest_name("y", names), "");
  EXPECT_EQ(nearest_name("", names), "");
  EXPECT_EQ(nearest_name("mat", names), "");
  EXPECT_EQ(nearest_name(std::string(1000, 'x'), {"x"}), "");
}

TEST(Suggestion, IsAQuestion) {
  EXPECT_EQ(suggestion("matmull", {"matmul"}), "did you mean 'matmul'?");
  EXPECT_EQ(suggestion("conv", {"matmul"}), "");
}

TEST(Suggestion, ATruncatedNameSuggestsTheLongerOne) {
  EXPECT_EQ(longer_name("--temp", {"--prompt", "--temperature", "--template"}), "--temperature");
  EXPECT_EQ(longer_name("--bogus", {"--prompt"}), "");
  EXPECT_EQ(longer_name("-", {"--prompt"}), "");
  EXPECT_EQ(longer_name("", {"--prompt"}), "");
}

TEST(Suggestion, RelatedNamesBeginAlike) {
  using Names = std::vector<std::string_view>;
  const Names known = {"LlamaForCausalLM", "Qwen2ForCausalLM", "Qwen2MoeForCausalLM",
                       "Qwen3ForCausalLM", "QuietForCausalLM"};
  EXPECT_EQ(related_names("Qwen4ForCausalLM", known, 4),
            (Names{"Qwen2ForCausalLM", "Qwen3ForCausalLM", "Qwen2MoeForCausalLM"}));
  EXPECT_EQ(related_names("qwen3moe", known, 1), Names{"Qwen3ForCausalLM"});
  EXPECT_EQ(related_names("BloomForCausalLM", known, 4), Names{});
  EXPECT_EQ(related_names("", known, 4), Names{});
  EXPECT_EQ(related_names(std::string(100000, 'Q'), known, 4), Names{});
}

}  // namespace
}  // namespace tapml
