// Buffers with strides: the sizes and offsets in the emitted code, and what devices compute.
#include <gtest/gtest.h>

#include "codegen/lower/check_program.h"
#include "device_kernels.h"
#include "support/expect_error.h"
#include "support/matrix_program.h"
#include "text/parser.h"

namespace tapml::testing {
namespace {

tir::PrimFuncRef parsed_program(const std::string& source) {
  const Module module = text::parse(source, "test");
  return std::dynamic_pointer_cast<const tir::PrimFunc>(module.functions.begin()->second);
}

// y is x with its rows and columns exchanged through padded rows in registers or on the stack.
constexpr const char* kByLocal = R"(
prim def k(x: Buffer((n, 5, 4), f32), out y: Buffer((n, 4, 5), f32), n: i64) {
  for b in parallel(n) {
    alloc s: Buffer((5, 4), f32, local, strides=(7, 1))
    for i in serial(5) { for j in serial(4) { s[i, j] = x[b, i, j] } }
    for i in serial(5) { for j in serial(4) { y[b, j, i] = s[i, j] } }
  }
}
)";

// The same by the threads of a group.
constexpr const char* kByShared = R"(
prim def k(x: Buffer((n, 5, 4), f32), out y: Buffer((n, 4, 5), f32), n: i64)
    {workgroup_threads: 32} {
  for b in workgroup(n) {
    alloc s: Buffer((5, 4), f32, shared, strides=(7, 1))
    for t in thread(32) {
      if t < 20 { s[t//4, t%4] = x[b, t//4, t%4] }
      barrier
      if t < 20 { y[b, t//5, t%5] = s[t%5, t//5] }
    }
  }
}
)";

// A tile whose rows have gaps between their elements too, in the form that the cpu transposes in
// registers.
constexpr const char* kByGaps = R"(
prim def k(x: Buffer((n, 5, 4), f32), out y: Buffer((n, 4, 5), f32), n: i64) {
  for b in parallel(n) {
    alloc s: Buffer((5, 4), f32, local, strides=(9, 2))
    for i in serial(5) { for j in serial(4) { s[i, j] = x[b, i, j] } }
    for r in vectorized(4) { for c in unrolled(4) { y[b, c, r] = s[r, c] } }
    for j in serial(4) { y[b, j, 4] = s[4, j] }
  }
}
)";

void expect_transposed(const std::string& platform, const std::string& source) {
  DeviceKernels kernels(platform);
  if (!kernels.available()) GTEST_SKIP() << platform << " is unavailable";
  kernels.add_scheduled(*parsed_program(source));
  kernels.load();
  if (::testing::Test::HasFatalFailure()) return;
  constexpr int64_t n = 9;
  HostTensor x = HostTensor::zeros(DType::kF32, {n, 5, 4});
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, static_cast<double>(i));
  std::vector<HostTensor> arguments = {x, HostTensor::zeros(DType::kF32, {n, 4, 5})};
  kernels.run(0, arguments, {n});
  for (int64_t b = 0; b < n; ++b) {
    for (int64_t i = 0; i < 20; ++i) {
      ASSERT_EQ(arguments[1].at_f64(b * 20 + i), b * 20 + i % 5 * 4 + i / 5) << b << " " << i;
    }
  }
}

TEST(PaddedBuffers, LocalOnTheCpu) { expect_transposed("cpu", kByLocal); }
TEST(PaddedBuffers, WithGapsOnTheCpu) { expect_transposed("cpu", kByGaps); }
TEST(PaddedBuffers, LocalOnOpenCl) { expect_transposed("opencl", kByLocal); }
TEST(PaddedBuffers, LocalOnVulkan) { expect_transposed("vulkan", kByLocal); }
TEST(PaddedBuffers, SharedOnOpenCl) { expect_transposed("opencl", kByShared); }
TEST(PaddedBuffers, SharedOnVulkan) { expect_transposed("vulkan", kByShared); }

std::string padded_source(const std::string& source, const std::string& text) {
  const target::Target target = target::parse_target(text);
  codegen::DeviceFunc launch =
      codegen::lower_prim_func(*parsed_program(source), "kernel").launches.at(0);
  if (target.description.index_bits == 32) codegen::narrow_index(launch, true, "kernel", true);
  return codegen::generator_of(target).source_text({launch}, target);
}

// Five rows of 7 elements.
TEST(PaddedBuffers, ReserveThePadding) {
  for (const char* platform : {"opencl", "vulkan"}) {
    for (const char* source : {kByLocal, kByShared}) {
      const std::string code = padded_source(source, platform);
      EXPECT_NE(code.find("[35]"), std::string::npos) << code;
      EXPECT_EQ(code.find("[20]"), std::string::npos) << code;
    }
  }
}

// A target's limit holds for what is reserved.
TEST(PaddedBuffers, CountWithTheirPadding) {
  target::Target target = target::parse_target("opencl:groups=gpu");
  target.description.limits.max_local_memory = 5 * 7 * 4;
  EXPECT_NO_THROW(
      codegen::check_program(*parsed_program(kByShared), target.description, "kernel k"));
  target.description.limits.max_local_memory -= 1;
  expect_user_error(
      [&] { codegen::check_program(*parsed_program(kByShared), target.description, "kernel k"); },
      {"the shared buffers up to s need more memory", "kernel k", "140 bytes"});
}

// The whole program, its fragments alone, and its copies alone.
constexpr const char* kCopies = R"(
prim def k(x: Buffer((n,), f32), out y: Buffer((n,), f32), n: i64) {workgroup_threads: 32} {
  for b in workgroup((n + 31)//32) {
    alloc s: Buffer((32,), f32, shared)
    for t in thread(32) {
      if b*32 + t < n { copy_async(s[t], x[b*32 + t]) }
      commit_copies()
      wait_copies(0)
      barrier
      if b*32 + t < n { y[b*32 + t] = s[t] }
    }
  }
}
)";

class WithoutMatrixUnits : public ::testing::TestWithParam<const char*> {};

TEST_P(WithoutMatrixUnits, MatrixOperationsAndAsynchronousCopiesAreRefused) {
  const target::Target target = target::parse_target(GetParam());
  const auto check = [&](const std::string& source) {
    codegen::check_program(*parsed_program(source), target.description, "kernel k");
  };
  if (!target.description.gpu_like) {
    for (const std::string& source : {matrix_program(), std::string(kCopies)}) {
      expect_user_error([&] { check(source); }, {"kernel k", "the target has no work groups"});
    }
    return;
  }
  expect_user_error([&] { check(matrix_program()); },
                    {"fragment left: the target's code has no matrix units", "kernel k",
                     "products and sums of elements in loops", "hint: "});
  expect_user_error([&] { check(kCopies); },
                    {"copy_async to s: the target's code has no asynchronous copies", "kernel k",
                     "stores to the shared buffer, then a barrier", "hint: "});
}

INSTANTIATE_TEST_SUITE_P(Targets, WithoutMatrixUnits,
                         ::testing::Values("cpu", "wasm", "opencl:groups=gpu", "vulkan:for=rtx"),
                         [](const auto& each) {
                           std::string name = each.param;
                           for (char& c : name)
                             c = isalnum(static_cast<unsigned char>(c)) ? c : '_';
                           return name;
                         });

}  // namespace
}  // namespace tapml::testing
