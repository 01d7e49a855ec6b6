// Portable math within 2 ULP. TAPML_MATH_STRIDE=1 walks all 2^32 values (make test-math).
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

#include "walk.h"

namespace tapml::testing {
namespace {

uint64_t stride_or(uint64_t usual) {
  const char* text = std::getenv("TAPML_MATH_STRIDE");
  uint64_t stride = text ? std::strtoull(text, nullptr, 10) : 0;
  return stride > 0 ? stride : usual;
}

// TAPML_MATH_ONLY=sin,cos selects functions.
bool is_asked_for(const std::string& name) {
  const char* list = std::getenv("TAPML_MATH_ONLY");
  return !list || ("," + std::string(list) + ",").find("," + name + ",") != std::string::npos;
}

class PortableMath : public ::testing::TestWithParam<const char*> {
 protected:
  static MathKernels& kernels(const std::string& platform) {
    static MathKernels cpu("cpu"), opencl("opencl");
    return platform == "cpu" ? cpu : opencl;
  }
};

TEST_P(PortableMath, IsWithinTwoUlp) {
  MathKernels& kernels = PortableMath::kernels(GetParam());
  if (!kernels.available()) GTEST_SKIP() << GetParam() << " is unavailable";
  bool cpu = GetParam() == std::string("cpu");
  bool verbose = std::getenv("TAPML_MATH_STRIDE") != nullptr;
  uint64_t stride = cpu ? stride_or(9001) : stride_or(90001) * (verbose ? 1009 : 1);
  for (const Function& function : math_functions()) {
    if (!is_asked_for(function.name)) continue;
    Verdict verdict = kernels.walk(function, stride, verbose);
    EXPECT_LE(verdict.max_ulp, 2) << function.name << " at " << verdict.worst;
    if (verbose) {
      std::printf("%-6s %-6s %10lld values  %.3f ULP at %-14a %.3f ns\n", GetParam(), function.name,
                  static_cast<long long>(verdict.inputs), verdict.max_ulp,
                  static_cast<double>(verdict.worst),
                  kernels.seconds_per_value(function.name) * 1e9);
      std::fflush(stdout);
    }
  }
  if (!is_asked_for("pow")) return;
  Verdict verdict = kernels.walk_pow(verbose ? 20'000'000 : 200'000);
  EXPECT_LE(verdict.max_ulp, 2) << "pow of " << verdict.worst;
  if (verbose) {
    std::printf("%-6s pow    %10lld pairs   %.3f ULP at %-14a %.3f ns\n", GetParam(),
                static_cast<long long>(verdict.inputs), verdict.max_ulp,
                static_cast<double>(verdict.worst), kernels.seconds_per_value("pow") * 1e9);
  }
}

// -0x1.b08c4ap+111 is just below a multiple of pi/2: a negative, tiny fraction of a quadrant must
// keep its bits. A stride that divides its bits visits it.
TEST_P(PortableMath, ReductionKeepsTinyNegativeFractions) {
  MathKernels& kernels = PortableMath::kernels(GetParam());
  if (!kernels.available()) GTEST_SKIP() << GetParam() << " is unavailable";
  constexpr uint64_t kStride = 35377;
  static_assert(0xf7584625u % kStride == 0);
  for (const Function& function : math_functions()) {
    if (function.name != std::string("cos") && function.name != std::string("tan")) continue;
    Verdict verdict = kernels.walk(function, kStride, false);
    EXPECT_LE(verdict.max_ulp, 2) << function.name << " at " << verdict.worst;
  }
}

// Narrow floats compute in f32, so that only the final rounding is visible.
TEST_P(PortableMath, OfNarrowFloatsIsRoundedOnce) {
  if (!kernels(GetParam()).available()) GTEST_SKIP() << GetParam() << " is unavailable";
  for (const Function& function : math_functions()) {
    std::string name = function.name;
    bool cpu = GetParam() == std::string("cpu");
    if (!cpu && name != "exp" && name != "sin" && name != "log") continue;
    for (DType dtype : {DType::kF16, DType::kBF16}) {
      Verdict verdict = MathKernels::walk_narrow(GetParam(), function, dtype);
      EXPECT_LE(verdict.max_ulp, 0.501)
          << name << " " << dtype_name(dtype) << " at " << verdict.worst;
    }
  }
  const bool all = std::getenv("TAPML_MATH_STRIDE") != nullptr;
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    Verdict verdict = MathKernels::walk_narrow_pow(GetParam(), dtype, all ? 20'000'000 : 200'000);
    EXPECT_LE(verdict.max_ulp, 0.501) << "pow " << dtype_name(dtype) << " of " << verdict.worst;
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, PortableMath, ::testing::Values("cpu", "opencl"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tapml::testing
