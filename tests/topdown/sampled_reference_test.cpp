// Above the limit, only a sample of a kernel's output is compared with the reference: the elements
// with the largest difference between source and target, and random ones.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "passes/kernel.h"
#include "passes/legalize.h"
#include "text/parser.h"
#include "text/printer.h"
#include "topdown/replay/replay.h"

namespace tapml::topdown {
namespace {

// One call of a matmul kernel [128, 8] x [128, 8]^T: 131,072 multiply-adds, 16,384 elements.
Suite matmul_suite() {
  Module module = passes::legalize(text::parse(R"(
def main(x: Tensor((128, 8), f32), w: Tensor((128, 8), f32)) -> Tensor((128, 128), f32) {
  dataflow {
    y: Tensor((128, 128), f32) = matmul(x, w) {transpose_b: true}
    output y
  }
  return y
}
)",
                                               "test"));
  Suite suite;
  SuiteKernel kernel;
  for (const auto& [name, function] : module.functions) {
    if (passes::is_kernel(function.get())) kernel.name = name;
  }
  module.functions.erase("main");
  kernel.spec = text::print(module);
  kernel.params = {"a", "b", "out"};
  kernel.modes = {AccessMode::kIn, AccessMode::kIn, AccessMode::kOut};
  HostTensor x = HostTensor::zeros(DType::kF32, {128, 8});
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, 0.01 * static_cast<double>(i % 37));
  HostTensor y = HostTensor::zeros(DType::kF32, {128, 128});
  for (int64_t i = 0; i < 128; ++i) {
    for (int64_t j = 0; j < 128; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < 8; ++k) sum += x.at_f64(i * 8 + k) * x.at_f64(j * 8 + k);
      y.set_f64(i * 128 + j, sum);
    }
  }
  suite.tensors = {{"x", x}, {"y", y}};
  SuiteCall call;
  call.before = {"x", "x", ""};
  call.after = {"", "", "y"};
  suite.kernels = {kernel};
  suite.calls = {call};
  return suite;
}

TEST(SampledReference, ComparesEverythingBelowTheLimit) {
  Suite suite = matmul_suite();
  KernelReference reference(suite);
  const HostTensor& y = suite.tensors.at("y");
  Comparison all = compare(y, y, reference.outputs(0, {y})[0]);
  EXPECT_EQ(all.target.compared, 128 * 128);
  EXPECT_EQ(all.outcome, Outcome::kPass);
}

TEST(SampledReference, FindsTheElementThatDiffersMost) {
  Suite suite = matmul_suite();
  KernelReference reference(suite, 1000);
  HostTensor wrong = HostTensor::zeros(DType::kF32, {128, 128});
  for (int64_t i = 0; i < wrong.size(); ++i) {
    wrong.set_f64(i, suite.tensors.at("y").at_f64(i) + (i == 9999 ? 0.5 : 0));
  }
  Comparison comparison = compare(wrong, suite.tensors.at("y"), reference.outputs(0, {wrong})[0]);
  EXPECT_EQ(comparison.target.compared, KernelReference::kSampleSize);
  EXPECT_EQ(comparison.outcome, Outcome::kFail);
  EXPECT_EQ(comparison.target.worst, 9999);
  EXPECT_NEAR(comparison.target.max_abs, 0.5, 1e-5);
}

// Masks are full of equal infinities, which do not count as differences.
TEST(SampledReference, FindsADifferenceAmongEqualInfinities) {
  Suite suite = matmul_suite();
  const double infinity = std::numeric_limits<double>::infinity();
  HostTensor wrong = HostTensor::zeros(DType::kF32, {128, 128});
  HostTensor& y = suite.tensors.at("y");
  for (int64_t i = 0; i < wrong.size(); ++i) {
    if (i % 2 == 0) y.set_f64(i, i % 4 == 0 ? -infinity : std::nan(""));
    wrong.set_f64(i, y.at_f64(i));
  }
  wrong.set_f64(9999, y.at_f64(9999) + 0.5);
  KernelReference reference(suite, 1000);
  EXPECT_EQ(reference.outputs(0, {wrong})[0].wanted[9999], 1);
}

TEST(SampledReference, IsDeterministic) {
  Suite suite = matmul_suite();
  const HostTensor& y = suite.tensors.at("y");
  KernelReference a(suite, 1000), b(suite, 1000);
  EXPECT_EQ(a.outputs(0, {y})[0].wanted, b.outputs(0, {y})[0].wanted);
}

}  // namespace
}  // namespace tapml::topdown
