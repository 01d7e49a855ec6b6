// Loads in branches that the first lane of a vector does not take: their addresses have divisions
// by sizes that only run time knows.
#include <gtest/gtest.h>

#include "device_kernels.h"
#include "support/dtypes.h"
#include "support/kernel_program.h"

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

}  // namespace
}  // namespace tapml::testing
