// Every operator and fused programs through schedule, code generation and the real device, against
// the operators' references, with shapes around the sizes where schedules split.
#include <gtest/gtest.h>

#include "device_kernels.h"
#include "support/kernel_cases.h"
#include "support/sanitized.h"

namespace tapml::testing {
namespace {

class EveryKernel : public ::testing::TestWithParam<const char*> {};

// Under sanitizers only some kernels: all take minutes on vulkan, and to prove their 32-bit
// indices.
TEST_P(EveryKernel, IsWithinItsBoundOnTheDevice) {
  const std::string target = GetParam();
  std::vector<KernelProgram> kernels = kernel_cases();
  const size_t step = !kSanitized ? 1 : target == "opencl:index=32" ? 9 : target == "cpu" ? 1 : 3;
  std::vector<KernelProgram> some;
  for (size_t k = 0; k < kernels.size(); k += step) some.push_back(std::move(kernels[k]));
  expect_on_device(target, some);
}

// Threads that meet at barriers inside the loop over groups: no compiler may hoist branches on the
// thread out of it (OpenCL's first platform did, and every row's largest value was its last).
TEST(GroupsOfThreads, MeetAtBarriersInLoops) {
  std::vector<KernelProgram> rows;
  for (KernelProgram& kernel : kernel_cases()) {
    const bool reduces = kernel.name.starts_with("argmax") || kernel.name.starts_with("softmax") ||
                         kernel.name.starts_with("rms_norm");
    if (reduces) rows.push_back(std::move(kernel));
  }
  ASSERT_FALSE(rows.empty());
  expect_on_device("opencl:groups=gpu", rows);
}

INSTANTIATE_TEST_SUITE_P(Platforms, EveryKernel,
                         ::testing::Values("cpu", "opencl", "opencl:index=32", "vulkan", "wasm"),
                         [](const auto& info) { return target_test_name(info.param); });

}  // namespace
}  // namespace tapml::testing
