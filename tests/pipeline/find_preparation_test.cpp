// Launches that only pack weights run once, when the weights are loaded.
#include <gtest/gtest.h>

#include "steps_program.h"

namespace tapml::pipeline {
namespace {

TEST(FindPreparation, ALaunchThatReadsWeightsAloneRunsOnce) {
  const auto executable = compile_steps_program("cpu");
  const Implementation& matmul = implementation_of(*executable, "matmul_");
  ASSERT_EQ(matmul.launches.size(), 2u);
  EXPECT_TRUE(matmul.launches[0].prepares);
  EXPECT_FALSE(matmul.launches[1].prepares);
  ASSERT_EQ(matmul.workspaces.size(), 1u);
  EXPECT_EQ(matmul.workspaces[0].mode, AccessMode::kPrepared);
  EXPECT_EQ(matmul.preparation.size(), 16u);
  EXPECT_EQ(prepared_sources(matmul, executable->kernels.at(0)), std::vector<int32_t>{1});
  // Its packed form is no larger than twice the weight.
  EXPECT_GE(unwrap(prepared_bytes(matmul)), 64 * 64 * 4);
  EXPECT_LE(unwrap(prepared_bytes(matmul)), 2 * 64 * 64 * 4);
}

// Its scratch memory depends on x.
TEST(FindPreparation, OtherScratchMemoryIsFilledAtEachCall) {
  const auto executable = compile_steps_program("cpu");
  const Implementation& softmax = implementation_of(*executable, "softmax_");
  EXPECT_EQ(softmax.preparation, "");
  EXPECT_FALSE(softmax.workspaces.empty());
  for (const ParamInfo& workspace : softmax.workspaces) {
    EXPECT_EQ(workspace.mode, AccessMode::kWorkspace) << workspace.name;
  }
  for (const LaunchInfo& launch : softmax.launches) EXPECT_FALSE(launch.prepares);
}

TEST(FindPreparation, NothingIsPreparedWithoutWeightsOrWith32BitIndices) {
  std::string text = kStepsProgram;
  const std::string weights = " {model.weights: [\"w\"]}";
  text.erase(text.find(weights), weights.size());
  const auto unnamed = compile(text::parse(text, "program"), target::parse_target("cpu"));
  ImplementOptions options;
  leave_out({"hoist_weight_prepacking"}, "test", options);
  for (const auto& executable :
       {unnamed, compile_steps_program("opencl:index=32"), compile_steps_program("cpu", options)}) {
    for (const Implementation& one : executable->implementations) {
      EXPECT_FALSE(has_prepared(one)) << executable->target << ", " << one.provider;
      for (const LaunchInfo& launch : one.launches) EXPECT_FALSE(launch.prepares);
    }
  }
}

}  // namespace
}  // namespace tapml::pipeline
