// The table of signatures that an executable has of its kernels.
#include <gtest/gtest.h>

#include "steps_program.h"
#include "support/expect_error.h"

namespace tapml::pipeline {
namespace {

std::string dims_of(const ParamInfo& param, const std::vector<int64_t>& scalars) {
  std::string text;
  for (const ScalarProgram& dim : param.dims) {
    text += (text.empty() ? "" : ", ") + std::to_string(unwrap(evaluate(dim, scalars)));
  }
  return text;
}

TEST(ListKernels, ASignatureForEachKernelInOrderOfNames) {
  const auto executable = compile_steps_program("null");
  ASSERT_EQ(executable->kernels.size(), 3u);
  EXPECT_TRUE(executable->kernels[0].name.starts_with("matmul_"));
  EXPECT_TRUE(executable->kernels[1].name.starts_with("softmax_"));
  EXPECT_TRUE(executable->kernels[2].name.starts_with("tanh_"));
  const KernelInfo& matmul = executable->kernels[0];
  EXPECT_EQ(matmul.scalars, std::vector<std::string>{"n"});
  ASSERT_EQ(matmul.params.size(), 3u);
  const char* const names[] = {"a", "b", "out"};
  const char* const dims[] = {"7, 64", "64, 64", "7, 64"};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(matmul.params[i].name, names[i]);
    EXPECT_EQ(matmul.params[i].dtype, DType::kF32);
    EXPECT_EQ(matmul.params[i].mode, i == 2 ? AccessMode::kOut : AccessMode::kIn);
    EXPECT_EQ(dims_of(matmul.params[i], {7}), dims[i]);
  }
}

// The text of a kernel is a module of its own.
TEST(ListKernels, TheSpecificationIsText) {
  const auto executable = compile_steps_program("null");
  for (const KernelInfo& kernel : executable->kernels) {
    const Module alone = text::parse(kernel.spec, kernel.name);
    EXPECT_NE(alone.find(kernel.name), nullptr) << kernel.spec;
    EXPECT_EQ(alone.find("main"), nullptr);
  }
}

// A scalar that no dimension states by itself follows from a shape that the caller passes.
TEST(ListKernels, DimensionsAreProgramsOverTheScalars) {
  const auto executable = compile(text::parse(R"(module
def main(x: Tensor((2*n, 3), f32), s: Shape((n,))) -> Tensor((n, 6), f32) {
  y: Tensor((2*n, 3), f32) = exp(x)
  z: Tensor((n, 6), f32) = reshape(y, shape(n, 6))
  return z
}
)",
                                              "program"),
                                  target::parse_target("null"));
  ASSERT_EQ(executable->kernels.size(), 1u);
  const KernelInfo& exp = executable->kernels[0];
  ASSERT_EQ(exp.scalars.size(), 1u);
  EXPECT_EQ(dims_of(exp.params.at(0), {4}), "8, 3");
  EXPECT_EQ(dims_of(exp.params.at(1), {4}), "8, 3");
}

TEST(ListKernels, RefusesKernelsBeyondTheTargetsLimits) {
  target::Target small = target::parse_target("opencl");
  const Module module = text::parse(kStepsProgram, "program");
  small.description.limits.max_bindings = 2;
  testing::expect_platform_error(
      [&] { compile(module, small); }, PlatformFault::kLimit,
      {"a kernel has 3 tensors and segments of tensors; the platform takes 2", "kernel matmul_",
       "on opencl"});
  small.description.limits.max_bindings = 0;
  small.description.limits.max_binding_bytes = 255;
  testing::expect_platform_error(
      [&] { compile(module, small); }, PlatformFault::kLimit,
      {"tensor b has rows of 256 bytes; the platform binds at most 255", "kernel matmul_"});
}

}  // namespace
}  // namespace tapml::pipeline
