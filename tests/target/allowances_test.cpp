// The options of every target that say what its arithmetic may do.
#include "abi/allowances.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "target/target.h"

namespace tapml::target {
namespace {

using testing::expect_user_error;

std::string allowed_on(const std::string& target) {
  return allowances_text(parse_target(target).description.allowances);
}

TEST(TargetAllowances, AreOptionsOfEveryPlatformThatComputes) {
  for (const Platform& platform : platforms()) {
    const std::string name = platform.description.platform;
    if (!platform.description.computes) {
      expect_user_error([&] { parse_target(name + ":precision=tf32"); }, {"unknown option"});
      continue;
    }
    for (const char* precision : {"tf32", "f16", "bf16"}) {
      const std::string option = std::string("precision=") + precision;
      EXPECT_EQ(allowed_on(name + ":division=ieee," + option), option);
    }
    EXPECT_EQ(allowed_on(name + ":accumulation=f16,division=relaxed,precision=bf16"),
              "precision=bf16, accumulation=f16, division=relaxed");
    EXPECT_EQ(allowed_on(name + ":precision=f32,accumulation=f32,division=ieee"), "");
    // It is a part of the target's text, which reports print.
    EXPECT_EQ(parse_target(name + ":precision=tf32").text, name + ":precision=tf32");
  }
}

TEST(TargetAllowances, StartFromWhatThePlatformDocuments) {
  EXPECT_EQ(allowed_on("cpu"), "");
  EXPECT_EQ(allowed_on("wasm"), "");
  EXPECT_EQ(allowed_on("opencl"), "division=relaxed");
  EXPECT_EQ(allowed_on("vulkan"), "division=relaxed");
  EXPECT_EQ(allowed_on("webgpu"), "division=relaxed");
  EXPECT_EQ(allowed_on("opencl:precision=tf32"), "precision=tf32, division=relaxed");
  EXPECT_EQ(allowed_on("opencl:division=ieee"), "");
}

TEST(TargetAllowances, WrongValuesAreNamed) {
  expect_user_error([] { parse_target("cpu:precision=f8"); },
                    {"bad value of option \"precision\"", "one of f32, tf32, f16, bf16", "f8"});
  expect_user_error([] { parse_target("opencl:accumulation=bf16"); },
                    {"bad value of option \"accumulation\"", "one of f32, f16", "bf16"});
  expect_user_error([] { parse_target("vulkan:division=fast"); },
                    {"bad value of option \"division\"", "one of ieee, relaxed", "fast"});
  expect_user_error([] { parse_target("cpu:precision"); },
                    {"option \"precision\" has no value", "precision=<value>"});
  expect_user_error([] { parse_target("cpu:rounding=up"); },
                    {"unknown option \"rounding\"", "accumulation, arch, division, features"});
}

TEST(TargetAllowances, AreJoinedAndSplit) {
  const Allowances all{
      .precision = OperandPrecision::kTF32, .half_sums = true, .relaxed_division = true};
  const std::vector<Allowances> parts = all.parts();
  ASSERT_EQ(parts.size(), 3U);
  Allowances joined;
  for (const Allowances& part : parts) joined = joined.with(part);
  EXPECT_EQ(joined, all);
  EXPECT_TRUE(Allowances{}.parts().empty());
  EXPECT_EQ(all.with({.precision = OperandPrecision::kBF16}).precision, OperandPrecision::kBF16);
}

}  // namespace
}  // namespace tapml::target
