// Conditions whose first half is a constant, next to a load: isfinite of integers is true.
#include <gtest/gtest.h>

#include "device_kernels.h"
#include "support/dtypes.h"
#include "support/kernel_program.h"

namespace tapml::testing {
namespace {

TEST(ConstantCondition, ChoosesTheLoad) {
  Var n = make_var("n");
  std::vector<KernelProgram> list;
  for (const char* op : {"logical_and", "logical_or"}) {
    KernelMaker maker(op);
    relax::Variable numbers = maker.param({n, 3}, DType::kU16, uniform(0, 9));
    maker.op(op,
             {maker.op("isfinite", {numbers}), maker.param({n, 1}, DType::kBool, uniform(0, 1))});
    list.push_back(maker.fused({{{"n", 5}}}));
  }
  DeviceKernels device("cpu");
  for (const KernelProgram& kernel : list) device.add(*kernel.func);
  device.load();
  if (HasFatalFailure()) return;
  for (size_t k = 0; k < list.size(); ++k) {
    const Sizes& sizes = list[k].sizes.front();
    std::vector<HostTensor> arguments = list[k].arguments(sizes);
    const std::vector<op::RefTensor> expected = list[k].expected(arguments, sizes);
    device.run(static_cast<int32_t>(k), arguments, list[k].scalars(sizes));
    EXPECT_TRUE(expect_within_bounds(list[k], sizes, arguments, expected));
  }
}

}  // namespace
}  // namespace tapml::testing
