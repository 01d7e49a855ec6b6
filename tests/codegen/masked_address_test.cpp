// Loads in branches that the first lane of a vector does not take: their addresses have divisions
// by sizes that only run time knows. Schedules mark some loops as vectorized; LLVM takes others
// too.
#include <gtest/gtest.h>

#include "device_kernels.h"
#include "support/dtypes.h"
#include "support/kernel_program.h"
#include "text/parser.h"

namespace tapml::testing {
namespace {

// Heads of one element, so that lanes are positions, of which a token sees those from the beginning
// of its chunk on.
TEST(MaskedAddress, IsThatOfTheChosenLanes) {
  Var n = make_var("n"), heads = make_var("heads"), size = make_var("size"), p = make_var("p");
  KernelMaker maker("chunked");
  relax::Variable q = maker.param({1, n, heads, 1}, DType::kF32);
  relax::Variable keys = maker.param({p, size, heads, 1}, DType::kF32);
  relax::Variable values = maker.param({p, size, heads, 1}, DType::kF32);
  const Fill pages = [](HostTensor& tensor, const Sizes&) {
    for (int64_t i = 0; i < tensor.size(); ++i) {
      tensor.set_f64(i, static_cast<double>(tensor.size() - 1 - i));
    }
  };
  maker.op("paged_attention",
           {q, keys, values, maker.param({1, p}, DType::kI32, pages),
            maker.param({1}, DType::kI32, uniform(5, 5))},
           {{"scale", 0.25}, {"chunk", int64_t{9}}});
  const KernelProgram kernel = maker.single({{{"n", 40}, {"heads", 3}, {"size", 16}, {"p", 4}},
                                             {{"n", 1}, {"heads", 2}, {"size", 16}, {"p", 3}}});
  DeviceKernels device("cpu");
  device.add(*kernel.func);
  device.load();
  if (HasFatalFailure()) return;
  for (const Sizes& sizes : kernel.sizes) {
    std::vector<HostTensor> arguments = kernel.arguments(sizes);
    const std::vector<op::RefTensor> expected = kernel.expected(arguments, sizes);
    device.run(0, arguments, kernel.scalars(sizes));
    EXPECT_TRUE(expect_within_bounds(kernel, sizes, arguments, expected));
  }
}

// The same by hand: y[i, j] is x[j // s, j % s, i // d] for j from first[0] on. The forms of the
// loop, of the branch, and of what is divided.
class MaskedRow : public ::testing::TestWithParam<std::tuple<const char*, const char*>> {};

TEST_P(MaskedRow, IsThatOfTheChosenLanes) {
  const auto [loop, statement] = GetParam();
  const std::string source =
      "prim def k(x: Buffer((p, s, h), f32), first: Buffer((2,), i64), out y: Buffer((n, w), f32), "
      "n: i64, w: i64, p: i64, s: i64, h: i64, d: i64) { for i in parallel(n) { for j in " +
      std::string(loop) + "(w) { " + statement + " } } }";
  const Module module = text::parse(source, "test");
  DeviceKernels device("cpu");
  device.add_scheduled(
      *std::dynamic_pointer_cast<const tir::PrimFunc>(module.functions.begin()->second));
  device.load();
  if (HasFatalFailure()) return;
  constexpr int64_t n = 21, w = 77, p = 6, s = 16, h = 4, d = 6;
  HostTensor x = HostTensor::zeros(DType::kF32, {p, s, h});
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, static_cast<double>(i + 1));
  for (int64_t first = 0; first < 40; first += 3) {
    std::vector<HostTensor> arguments = {
        x, HostTensor::from<int64_t>(DType::kI64, {2}, std::vector<int64_t>{first, 0}),
        HostTensor::zeros(DType::kF32, {n, w})};
    device.run(0, arguments, {n, w, p, s, h, d});
    if (HasFailure()) return;
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t j = 0; j < w; ++j) {
        const int64_t expected = j < first ? 0 : j * h + i / d + 1;
        ASSERT_EQ(arguments[2].at_f64(i * w + j), static_cast<double>(expected))
            << first << ": " << i << ", " << j;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Forms, MaskedRow,
    ::testing::Combine(
        ::testing::Values("serial", "vectorized"),
        ::testing::Values(
            "y[i, j] = select(first[0] <= j, x[j//s, j%s, i//d], f32(0.0))",
            "y[i, j] = f32(0.0) if first[0] <= j { y[i, j] = x[j//s, j%s, i//d] }",
            "y[i, j] = select(first[0] <= j, x[j//s, j%s, (i + first[1])//d], f32(0.0))",
            "y[i, j] = f32(0.0) if first[0] <= j { y[i, j] = x[j//s, j%s, (i + first[1])//d] }",
            "y[i, j] = f32(0.0) if first[0] <= j { y[i, j] = x[j//s, j%s, i//(d + first[1])] }",
            "y[i, j] = select(first[0] <= j, let r: i64 = i//d in x[j//s, j%s, r], f32(0.0))",
            "y[i, j] = select(first[0] <= j, x[j//s, j%s, (i - i%d)//d], f32(0.0))")));

// The loop over items, which LLVM vectorizes too.
TEST(MaskedAddress, OfItemsIsThatOfTheChosenLanes) {
  const Module module = text::parse(
      "prim def k(x: Buffer((p, n), f32), first: Buffer((2,), i64), out y: Buffer((n,), f32), n: "
      "i64, p: i64, d: i64) { for i in parallel(n) { y[i] = select(first[0] <= i, x[p//d, i], "
      "f32(0.0)) } }",
      "test");
  DeviceKernels device("cpu");
  device.add_scheduled(
      *std::dynamic_pointer_cast<const tir::PrimFunc>(module.functions.begin()->second));
  device.load();
  if (HasFatalFailure()) return;
  constexpr int64_t n = 77, p = 5, d = 2;
  HostTensor x = HostTensor::zeros(DType::kF32, {p, n});
  for (int64_t i = 0; i < x.size(); ++i) x.set_f64(i, static_cast<double>(i + 1));
  for (int64_t first = 0; first < 40; first += 3) {
    std::vector<HostTensor> arguments = {
        x, HostTensor::from<int64_t>(DType::kI64, {2}, std::vector<int64_t>{first, 0}),
        HostTensor::zeros(DType::kF32, {n})};
    device.run(0, arguments, {n, p, d});
    if (HasFailure()) return;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t expected = i < first ? 0 : p / d * n + i + 1;
      ASSERT_EQ(arguments[2].at_f64(i), static_cast<double>(expected)) << first << ": " << i;
    }
  }
}

}  // namespace
}  // namespace tapml::testing
