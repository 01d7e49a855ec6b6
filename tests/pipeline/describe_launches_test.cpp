// The entries that an executable has of its launches: what the launcher computes at each call.
#include <gtest/gtest.h>

#include "steps_program.h"

namespace tapml::pipeline {
namespace {

using Indices = std::vector<int32_t>;

// By the fallback's schedule: one item for each element of what a loop nest writes.
std::shared_ptr<const Executable> unscheduled(const char* target) {
  ImplementOptions options;
  leave_out({"schedule"}, "test", options);
  return compile_steps_program(target, options);
}

TEST(DescribeLaunches, TensorsAreNumberedAndExtentsAreProgramsOverScalars) {
  const auto executable = unscheduled("null");
  const Implementation& softmax = implementation_of(*executable, "softmax_");
  const KernelInfo& kernel = executable->kernels.at(static_cast<size_t>(softmax.kernel));
  const std::vector<int64_t> scalars = {5};
  // Scratch tensors follow the parameters x and out: the peaks, the exponentials, their sums.
  ASSERT_EQ(softmax.workspaces.size(), 3u);
  std::vector<std::vector<int64_t>> shapes;
  for (const ParamInfo& workspace : softmax.workspaces) {
    EXPECT_EQ(workspace.mode, AccessMode::kWorkspace);
    shapes.emplace_back();
    for (const ScalarProgram& dim : workspace.dims) {
      shapes.back().push_back(unwrap(evaluate(dim, scalars)));
    }
  }
  EXPECT_EQ(shapes, (std::vector<std::vector<int64_t>>{{64}, {5, 64}, {64}}));
  ASSERT_EQ(softmax.launches.size(), 4u);
  const int64_t extents[] = {64, 5 * 64, 64, 5 * 64};
  const Indices buffers[] = {{0, 2}, {0, 2, 3}, {3, 4}, {1, 3, 4}};
  for (size_t i = 0; i < 4; ++i) {
    const LaunchInfo& launch = softmax.launches[i];
    EXPECT_EQ(launch.entry, kernel.name + "_" + std::to_string(i));
    EXPECT_EQ(unwrap(evaluate(launch.extent, scalars)), extents[i]) << launch.entry;
    EXPECT_EQ(launch.buffers, buffers[i]) << launch.entry;
    EXPECT_EQ(launch.scalars, Indices{0}) << launch.entry;
    EXPECT_TRUE(launch.limits.empty()) << launch.entry;
    EXPECT_TRUE(launch.when.code.empty()) << launch.entry;
  }
}

TEST(DescribeLaunches, LimitsOfNarrowIndices) {
  const auto executable = unscheduled("opencl:index=32");
  const LaunchInfo& launch = implementation_of(*executable, "tanh_").launches.at(0);
  ASSERT_EQ(launch.limits.size(), 1u);
  EXPECT_TRUE(launch.limits[0].what.starts_with("number of elements of ")) << launch.limits[0].what;
  EXPECT_EQ(launch.limits[0].most, INT32_MAX);
  EXPECT_EQ(unwrap(evaluate(launch.limits[0].value, std::vector<int64_t>{5})), 5 * 64);
}

// A call runs the launches for tensors bound whole, or those for tensors in segments.
TEST(DescribeLaunches, EitherWholeTensorsOrSegments) {
  target::Target small = target::parse_target("opencl");
  small.description.limits.max_binding_bytes = 64 * 64 * 4;
  small.description.limits.max_bindings = 32;
  const auto executable = compile(text::parse(kStepsProgram, "program"), small);
  const Implementation& tanh = implementation_of(*executable, "tanh_");
  ASSERT_EQ(tanh.launches.size(), 2u);
  EXPECT_TRUE(tanh.launches[1].entry.ends_with("_parts_0")) << tanh.launches[1].entry;
  EXPECT_FALSE(tanh.segments.empty());
  for (const auto& [rows, whole] : {std::pair(64, true), std::pair(65, false)}) {
    const std::vector<int64_t> scalars = {rows};
    EXPECT_EQ(unwrap(evaluate(tanh.launches[0].when, scalars)) >= 0, whole) << rows;
    EXPECT_EQ(unwrap(evaluate(tanh.launches[1].when, scalars)) >= 0, !whole) << rows;
  }
}

}  // namespace
}  // namespace tapml::pipeline
