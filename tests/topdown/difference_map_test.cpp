// Maps of where outputs differ: blocks, sums, and the round trip through JSON.
#include "topdown/reference_run/difference_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "topdown/faults/inject_fault.h"
#include "topdown/replay/replay.h"
#include "topdown/report/report.h"
#include "topdown/results/result_json.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

op::RefTensor reference_of(const Shape& shape, double bound) {
  op::RefTensor reference = op::RefTensor::zeros(DType::kF32, shape);
  reference.bound.assign(reference.values.size(), bound);
  return reference;
}

HostTensor zeros_but(const Shape& shape, const std::vector<std::pair<size_t, float>>& values) {
  int64_t size = 1;
  for (int64_t extent : shape) size *= extent;
  std::vector<float> data(static_cast<size_t>(size), 0.0f);
  for (const auto& [at, value] : values) data[at] = value;
  return HostTensor::from<float>(DType::kF32, shape, data);
}

TEST(DifferenceMap, OfASmallOutputHasABlockAnElement) {
  const HostTensor value =
      zeros_but({2, 1, 3}, {{1, 0.25f}, {4, 3.0f}, {5, std::numeric_limits<float>::quiet_NaN()}});
  const DifferenceMap map = difference_map(value, reference_of({2, 1, 3}, 1), {});
  EXPECT_EQ(map.shape, (Shape{2, 1, 3}));
  EXPECT_EQ(map.height, 2);
  EXPECT_EQ(map.width, 3);
  EXPECT_EQ(map.blocks, (std::vector<double>{0, 0.25, 0, 0, 3, INFINITY}));
  EXPECT_EQ(map.outside, 2);
  EXPECT_EQ(map.first_row, 1);
  EXPECT_EQ(map.last_row, 1);
  EXPECT_EQ(map.first_column, 1);
  EXPECT_EQ(map.last_column, 2);
}

TEST(DifferenceMap, OfALargeOutputHasFewBlocks) {
  // 130 x 200: 44 x 50 blocks of 3 x 4.
  const HostTensor value = zeros_but({130, 200}, {{0, 2.0f}, {129 * 200 + 199, 7.0f}});
  const DifferenceMap map = difference_map(value, reference_of({130, 200}, 1), {});
  EXPECT_EQ(map.block_height, 3);
  EXPECT_EQ(map.block_width, 4);
  EXPECT_EQ(map.rows, 44);
  EXPECT_EQ(map.columns, 50);
  ASSERT_EQ(map.blocks.size(), 2200u);
  EXPECT_EQ(map.blocks.front(), 2);
  EXPECT_EQ(map.blocks.back(), 7);
  EXPECT_EQ(map.outside, 2);
  EXPECT_EQ(map.last_row, 129);
}

TEST(DifferenceMap, UncomparedElementsAreNotShownAsCorrect) {
  op::RefTensor reference = reference_of({4}, 1);
  reference.wanted = {1, 0, 1, 0};
  const DifferenceMap map = difference_map(zeros_but({4}, {{1, 5.0f}, {2, 0.5f}}), reference, {});
  EXPECT_EQ(map.blocks, (std::vector<double>{0, DifferenceMap::kNotCompared, 0.5,
                                             DifferenceMap::kNotCompared}));
  EXPECT_EQ(map.outside, 0);
  EXPECT_EQ(map.first_row, -1);
}

TEST(DifferenceMap, OfAnEmptyTensorAndAScalar) {
  EXPECT_TRUE(difference_map(zeros_but({0, 3}, {}), reference_of({0, 3}, 1), {}).blocks.empty());
  EXPECT_TRUE(difference_map(zeros_but({3, 0}, {}), reference_of({3, 0}, 1), {}).blocks.empty());
  EXPECT_EQ(difference_map(zeros_but({}, {{0, 2.0f}}), reference_of({}, 1), {}).blocks,
            std::vector<double>{2});
}

TEST(DifferenceMap, RoundingKeepsOutliersOutside) {
  const DifferenceMap map =
      difference_map(zeros_but({1}, {{0, 1.0001f}}), reference_of({1}, 1), {});
  EXPECT_GT(map.blocks[0], 1);
  EXPECT_EQ(map.outside, 1);
}

// An injected fault in a real kernel, from the replay to JSON and back.
TEST(DifferenceMap, OfAnInjectedFaultIsInTheVerdict) {
  const Suite suite = carved();
  KernelReference reference(suite);
  auto session = testing::open_session("cpu");
  Sandbox sandbox(Platform{target::parse_target("cpu"), session.get(), {}});
  int32_t kernel = 0;
  while (!suite.kernels[static_cast<size_t>(kernel)].name.starts_with("rms_norm")) ++kernel;
  const FaultyKernel faulty =
      inject_fault(suite, reference, suite.kernels[static_cast<size_t>(kernel)].name,
                   FaultKind::kDroppedTail, sandbox, {});
  pipeline::ImplementOptions implement;
  implement.rewrite = [&](const std::string& name, tir::PrimFuncRef scheduled) {
    return name == faulty.kernel ? faulty.implementation : scheduled;
  };
  sandbox.load(pipeline::implement(reference.module(), sandbox.target(), implement));
  const KernelVerdict verdict = unwrap(replay_kernel(suite, reference, kernel, sandbox));
  EXPECT_FALSE(verdict.passed);
  ASSERT_TRUE(verdict.difference);
  EXPECT_GT(verdict.difference->outside, 0);
  EXPECT_EQ(verdict.difference->height * verdict.difference->width, verdict.worst.target.compared);
  // Its calls, by layer.
  int64_t calls = 0;
  double largest = 0;
  for (const CallGroup& group : verdict.groups) {
    EXPECT_EQ(group.compared, group.calls);
    calls += group.calls;
    largest = std::max(largest, group.ratio);
  }
  EXPECT_EQ(calls, verdict.calls);
  EXPECT_EQ(largest, verdict.worst.target.max_ratio);

  const Json json = verdict_json(verdict);
  const KernelVerdict again = unwrap(read_verdict(JsonObjectReader(json, "verdict")));
  EXPECT_EQ(verdict_json(again).dump(), json.dump());
  // A picture with inconsistent sizes is refused.
  Json bad = json, picture = *json.find("difference");
  picture.set("rows", Json::integer(63));
  bad.set("difference", picture);
  EXPECT_FALSE(read_verdict(JsonObjectReader(bad, "verdict")));
}

}  // namespace
}  // namespace tapml::topdown
