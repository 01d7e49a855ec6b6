// Stores of elements below 32 bits in GLSL: by words where four neighbours are stored at once, as
// fields of words where the device has no narrow stores, under every schedule.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "device_kernels.h"
#include "interp/interpreter.h"
#include "support/kernel_cases.h"
#include "text/parser.h"

namespace tapml::testing {
namespace {

std::string emitted(const std::string& source, bool narrow_stores) {
  target::Target target = target::parse_target("vulkan");
  target.description.features.narrow_stores = narrow_stores;
  const Module module = text::parse(source, "test");
  codegen::DeviceFunc launch =
      codegen::lower_prim_func(*tir::as_prim_func(module.find("k")), "kernel").launches.at(0);
  codegen::narrow_index(launch, true, "kernel", true);
  return codegen::generator_of(target).source_text({launch}, target);
}

std::string program_of_lanes(const std::string& dtype, const std::string& value) {
  return "prim def k(x: Buffer((n, 8), f32), out y: Buffer((n, 8), " + dtype +
         "), n: i64) {\n  for i in parallel(n*2) {\n    for l in vectorized(4) {\n"
         "      y[i//2, i % 2*4 + l] = " +
         value + "\n    }\n  }\n}\n";
}

TEST(NarrowStores, FourNeighboursAreTwoWords) {
  for (const char* dtype : {"f16", "bf16"}) {
    for (bool narrow : {false, true}) {
      const std::string source =
          emitted(program_of_lanes(
                      dtype, "cast(" + std::string(dtype) + ", x[i//2, i % 2*4 + l] + f32(1))"),
                  narrow);
      EXPECT_NE(source.find("= tapml_words_of_" + std::string(dtype) + "("), std::string::npos)
          << source;
      EXPECT_EQ(source.find("atomic"), std::string::npos) << source;
      EXPECT_NE(source.find("buffer Binding1 { uvec2 "), std::string::npos) << source;
    }
  }
  // Eight bits are fields of a word.
  const std::string bytes =
      emitted(program_of_lanes("i8", "cast(i8, x[i//2, i % 2*4 + l])"), false);
  EXPECT_NE(bytes.find("atomicOr("), std::string::npos) << bytes;
}

class NarrowStoresOn : public ::testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (!device_.available()) GTEST_SKIP() << "vulkan is unavailable";
    device_.target().description.features.narrow_stores = GetParam();
  }
  DeviceKernels device_{"vulkan"};
};

// Products (tiles and lanes), rows, elementwise and a sum, at small and at a model's width.
TEST_P(NarrowStoresOn, EveryScheduleIsRight) {
  std::vector<KernelProgram> kernels;
  const AttrMap transposed = {{"transpose_b", true}};
  const AttrMap last = {{"axes", std::vector<int64_t>{-1}}};
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    Var n = make_var("n");
    kernels.push_back(operator_program("matmul", {{{n, 64}, dtype}, {{96, 64}, dtype}},
                                       {{{"n", 1}}, {{"n", 33}}}, transposed));
    kernels.push_back(operator_program("matmul", {{{n, 4096}, dtype}, {{576, 4096}, dtype}},
                                       {{{"n", 1}}, {{"n", 3}}}, transposed));
    kernels.push_back(operator_program("softmax", {{{n, 77}, dtype}}, {{{"n", 5}}}));
    kernels.push_back(operator_program("sum", {{{n, 576}, dtype}}, {{{"n", 9}}}, last));
    kernels.push_back(
        operator_program("add", {{{n, 64}, dtype}, {{n, 64}, dtype}}, {{{"n", 1}}, {{"n", 31}}}));
    kernels.push_back(
        operator_program("add", {{{n, 3}, dtype}, {{n, 3}, dtype}}, {{{"n", 1}}, {{"n", 31}}}));
  }
  expect_on_device(device_, kernels);
}

// Arithmetic in the narrow type is rounded after every step, in lanes too.
TEST_P(NarrowStoresOn, LanesRoundAsTheLanguageDoes) {
  const char* const values[] = {"cast(f16, x[i//2, i % 2*4 + l])",
                                "cast(f16, x[i//2, i % 2*4 + l])*f16(3)+f16(0.0999755859375)",
                                "cast(f16, x[i//2, i % 2*4 + l]*f32(1.5) + f32(0.0001))"};
  std::vector<tir::PrimFuncRef> programs;
  for (const char* value : values) {
    const Module module = text::parse(program_of_lanes("f16", value), "test");
    programs.push_back(
        std::dynamic_pointer_cast<const tir::PrimFunc>(module.functions.begin()->second));
    device_.add_scheduled(*programs.back());
  }
  device_.load();
  HostTensor x = HostTensor::zeros(DType::kF32, {100, 8});
  for (int64_t i = 0; i < x.size(); ++i) {
    x.set_f64(i, (static_cast<double>(i) - 400) * 0.37 + (i % 7 == 0 ? 1e-6 : 0));
  }
  x.set_f64(0, std::numeric_limits<double>::quiet_NaN());
  x.set_f64(1, 1e30);
  x.set_f64(2, -65520);
  for (size_t p = 0; p < programs.size(); ++p) {
    std::vector<HostTensor> found = {x, HostTensor::zeros(DType::kF16, {100, 8})};
    std::vector<HostTensor> expected = found;
    device_.run(static_cast<int32_t>(p), found, {100});
    if (HasFatalFailure()) return;
    interp::run_prim_func(*programs[p], expected, {100});
    for (int64_t i = 0; i < x.size(); ++i) {
      const double a = found[1].at_f64(i), b = expected[1].at_f64(i);
      ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b)))
          << values[p] << " " << i << ": " << a << ", expected " << b;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Vulkan, NarrowStoresOn, ::testing::Bool(), [](const auto& each) {
  return each.param ? "with_narrow_stores" : "without";
});

}  // namespace
}  // namespace tapml::testing
