// The shaders of every operator, of fused programs and of the demo model, as the compiler of
// Chromium sees them.
#include "support/wgsl_validation.h"

#include <gtest/gtest.h>

#include "device_kernels.h"
#include "frontend/huggingface/model.h"
#include "models/quantization.h"
#include "pipeline/compile.h"
#include "support/kernel_cases.h"

namespace tapml::testing {
namespace {

class WgslValidation : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!has_wgsl_compiler()) GTEST_SKIP() << "npm ci --prefix tests/webgpu installs the compiler";
  }
};

TEST_F(WgslValidation, ShadersOfEveryKernelAreAccepted) {
  DeviceKernels device("webgpu", nullptr);
  for (const KernelProgram& kernel : kernel_cases()) device.add(*kernel.func);
  expect_valid_wgsl(device.code());
}

TEST_F(WgslValidation, ShadersOfTheDemoModelAreAccepted) {
  for (const models::QuantizationRef& quantization :
       {models::QuantizationRef(), models::Quantization::parse("q4f32")}) {
    const auto model =
        frontend::read_model(std::string(TAPML_SOURCE_DIR) + "/models/demo", quantization);
    const auto executable = pipeline::compile(model.module, target::parse_target("webgpu"));
    ASSERT_FALSE(executable->modules.empty());
    for (const ModuleBlob& blob : executable->modules) expect_valid_wgsl(blob);
  }
}

}  // namespace
}  // namespace tapml::testing
