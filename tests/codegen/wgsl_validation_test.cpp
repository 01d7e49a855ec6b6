// The shaders of every operator and of fused programs, as the compiler of Chromium sees them.
#include "support/wgsl_validation.h"

#include <gtest/gtest.h>

#include "device_kernels.h"
#include "support/kernel_cases.h"

namespace tapml::testing {
namespace {

TEST(WgslValidation, ShadersOfEveryKernelAreAccepted) {
  if (!has_wgsl_compiler()) GTEST_SKIP() << "npm ci --prefix tests/webgpu installs the compiler";
  DeviceKernels device("webgpu", nullptr);
  for (const KernelProgram& kernel : kernel_cases()) device.add(*kernel.func);
  expect_valid_wgsl(device.code());
}

}  // namespace
}  // namespace tapml::testing
