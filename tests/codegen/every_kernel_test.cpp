// Every operator and fused programs through schedule, code generation and the real device, against
// the operators' references, with shapes around the sizes that schedules cut at.
#include <gtest/gtest.h>

#include "device_kernels.h"
#include "support/kernel_cases.h"

namespace tapml::testing {
namespace {

class EveryKernel : public ::testing::TestWithParam<const char*> {};

TEST_P(EveryKernel, IsWithinItsBoundOnTheDevice) {
  DeviceKernels device(GetParam());
  if (!device.here()) GTEST_SKIP() << GetParam() << " is not here";
  std::vector<KernelProgram> kernels = kernel_cases();
  for (const KernelProgram& kernel : kernels) device.add(*kernel.func);
  device.load();
  if (HasFatalFailure()) return;
  for (size_t k = 0; k < kernels.size(); ++k) {
    for (const Sizes& sizes : kernels[k].sizes) {
      SCOPED_TRACE(kernels[k].label(sizes));
      std::vector<HostTensor> arguments = kernels[k].arguments(sizes);
      std::vector<op::RefTensor> expected = kernels[k].expected(arguments, sizes);
      device.run(static_cast<int32_t>(k), arguments, kernels[k].scalars(sizes));
      if (HasFatalFailure()) return;
      if (!expect_within_bounds(kernels[k], sizes, arguments, expected)) break;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, EveryKernel,
                         ::testing::Values("cpu", "opencl", "opencl:index=32", "vulkan"),
                         [](const auto& info) { return target_test_name(info.param); });

}  // namespace
}  // namespace tapml::testing
