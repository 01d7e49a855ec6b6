// Kernel speed, and which kernels count as slow.
#include "topdown/runner/kernel_speed.h"

#include <gtest/gtest.h>

#include <numeric>

#include "losing_session.h"
#include "small_model.h"
#include "topdown/report/speed_table.h"

namespace tapml::topdown {
namespace {

KernelSpeed kernel(const std::string& name, double seconds, double bytes) {
  return {.kernel = name, .sequence = 0, .seconds = seconds, .work = {.flops = 1, .bytes = bytes}};
}

SpeedTable table_of(std::vector<KernelSpeed> kernels) {
  return {.ceilings = {.flops_per_s = 1e12, .bytes_per_s = 1e9}, .kernels = std::move(kernels)};
}

TEST(KernelSpeed, ExcessIsOverLaunchAndWork) {
  const SpeedTable speed = table_of({kernel("launch", 1e-5, 1), kernel("copy", 5e-5, 1e4)});
  EXPECT_DOUBLE_EQ(speed.launch_seconds(), 1e-5);
  // 10 µs of work and as much for the launch.
  EXPECT_DOUBLE_EQ(speed.excess(speed.kernels[1]), 2.5);
  EXPECT_DOUBLE_EQ(speed.kernels[1].share(speed.ceilings), 0.2);
}

TEST(KernelSpeed, UnknownWorkIsNeverSlow) {
  SpeedTable speed = table_of({kernel("launch", 1e-5, 1), kernel("attention", 1, 1e4)});
  speed.kernels[1].work.exact = false;
  EXPECT_EQ(speed.excess(speed.kernels[1]), 0);
  flag_slow(speed);
  EXPECT_FALSE(speed.kernels[1].slow);
}

TEST(KernelSpeed, SlowKernelsAreFarBehindTheOthers) {
  // All kernels reach a third of the ceiling, which is due to the device, and one a hundredth.
  SpeedTable speed =
      table_of({kernel("a", 3e-3, 1e6), kernel("b", 3e-3, 1e6), kernel("c", 3e-3, 1e6),
                kernel("launch", 1e-6, 1), kernel("slow", 1e-1, 1e6)});
  flag_slow(speed);
  for (const KernelSpeed& one : speed.kernels) EXPECT_EQ(one.slow, one.kernel == "slow");
  EXPECT_EQ(slow_text(speed, "opencl"), "slow on opencl: slow (0.01 GB/s, 1.0% of the ceiling)");
  speed.kernels.pop_back();
  flag_slow(speed);
  EXPECT_EQ(slow_text(speed, "opencl"), "slow on opencl: none");
  speed.failure = "error: the device is lost";
  EXPECT_EQ(slow_text(speed, "opencl"),
            "slow on opencl: none\nnot timed on opencl: error: the device is lost");
  EXPECT_NE(speed_table(speed, {}).find("the device is lost"), std::string::npos);
  SpeedTable empty;
  flag_slow(empty);
  EXPECT_EQ(speed_table(empty, {}), "");
  EXPECT_EQ(slow_text(empty, "opencl"), "");
}

// The largest call is timed, without changing the suite's data.
TEST(KernelSpeed, OfEveryKernelOfAModel) {
  const Suite suite = carved();
  const std::string before = suite_text(suite);
  target::Target target = target::parse_target("cpu");
  Sandbox sandbox({target, small_model().session.get()});
  sandbox.load(small_model().executable);
  std::vector<int32_t> kernels;
  for (size_t k = 0; k < suite.kernels.size(); ++k) kernels.push_back(static_cast<int32_t>(k));
  const SpeedTable speed = measure_speed(suite, kernels, sandbox, &kernel_cache());
  ASSERT_EQ(speed.kernels.size(), suite.kernels.size());
  int64_t known = 0;
  for (const KernelSpeed& one : speed.kernels) {
    EXPECT_GT(one.seconds, 0) << one.kernel;
    EXPECT_GT(one.work.bytes, 0) << one.kernel;
    known += one.work.exact;
    int64_t most = 0;  // elements of the first output
    std::map<int64_t, int64_t> elements;
    for (const SuiteCall& call : suite.calls) {
      if (suite.kernels[static_cast<size_t>(call.kernel)].name != one.kernel) continue;
      int64_t count = 0;
      for (const std::string& hash : call.after) {
        if (!hash.empty()) count += suite.tensors.at(hash).size();
      }
      elements[call.sequence] = count;
      most = std::max(most, count);
    }
    EXPECT_EQ(elements.at(one.sequence), most) << one.kernel;
  }
  // All except those that loop over the cache.
  EXPECT_GE(known, std::ssize(speed.kernels) - 2);
  EXPECT_EQ(suite_text(suite), before);
}

// Results from before a device loss are kept: for ceilings and for kernels.
TEST(KernelSpeed, LostDevice) {
  const Suite suite = carved();
  for (int launches : {0, 600}) {
    LosingSession session(launches);
    Sandbox sandbox({target::parse_target("cpu"), &session});
    sandbox.load(small_model().executable);
    std::vector<int32_t> kernels(suite.kernels.size());
    std::iota(kernels.begin(), kernels.end(), 0);
    const SpeedTable speed = measure_speed(suite, kernels, sandbox, &kernel_cache());
    EXPECT_LT(speed.kernels.size(), suite.kernels.size()) << launches;
    EXPECT_NE(speed.failure.find("the device is lost"), std::string::npos) << launches;
  }
}

TEST(KernelSpeed, WithoutKernelsNeedsNoDevice) {
  Sandbox sandbox({target::parse_target("cpu"), nullptr});
  EXPECT_TRUE(measure_speed({}, {}, sandbox, nullptr).kernels.empty());
}

}  // namespace
}  // namespace tapml::topdown
