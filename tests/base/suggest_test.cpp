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

}  // namespace
}  // namespace tapml
