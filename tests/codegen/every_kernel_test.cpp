// Every operator and fused programs through schedule, code generation and the real device, against
// the operators' references, with shapes around the sizes where schedules split.
#include <gtest/gtest.h>

#include "device_kernels.h"
#include "support/kernel_cases.h"
#include "support/sanitized.h"

namespace tapml::testing {
namespace {

class EveryKernel : public ::testing::TestWithParam<const char*> {};

// Under sanitizers, 32-bit indices are proved for every third kernel only: it takes minutes.
TEST_P(EveryKernel, IsWithinItsBoundOnTheDevice) {
  const std::string target = GetParam();
  std::vector<KernelProgram> kernels = kernel_cases();
  if (kSanitized && (target == "opencl:index=32" || target == "vulkan")) {
    std::vector<KernelProgram> some;
    for (size_t k = 0; k < kernels.size(); k += 3) some.push_back(std::move(kernels[k]));
    kernels = std::move(some);
  }
  expect_on_device(target, kernels);
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
