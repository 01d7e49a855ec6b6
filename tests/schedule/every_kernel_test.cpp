// Every operator and fused programs, scheduled for each platform and run by the interpreter, which
// rejects out-of-range indices; scheduled programs print and parse.
#include <gtest/gtest.h>

#include <set>

#include "passes/lower_math.h"
#include "relax/visit.h"
#include "schedule/rules.h"
#include "support/kernel_cases.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "text/printer.h"
#include "text/structural.h"

namespace tapml::testing {
namespace {

class EverySchedule : public ::testing::TestWithParam<const char*> {
 protected:
  target::Target target_ = target::parse_target(GetParam());
  std::vector<KernelProgram> kernels_ = kernel_cases();
};

TEST_P(EverySchedule, IsWithinItsBound) {
  for (const KernelProgram& kernel : kernels_) {
    tir::PrimFuncRef func = passes::lower_math(*schedule::schedule_for(*kernel.func, target_).func);
    for (const Sizes& sizes : kernel.sizes) {
      SCOPED_TRACE(kernel.label(sizes));
      std::vector<HostTensor> arguments = kernel.arguments(sizes);
      std::vector<op::RefTensor> expected = kernel.expected(arguments, sizes);
      interp::run_prim_func(*func, arguments, kernel.scalars(sizes));
      if (!expect_within_bounds(kernel, sizes, arguments, expected)) break;
    }
  }
}

TEST_P(EverySchedule, PrintsAndParses) {
  for (const KernelProgram& kernel : kernels_) {
    Module module;
    module.functions["k"] = schedule::schedule_for(*kernel.func, target_).func;
    std::string printed = text::print(module);
    Module parsed = text::parse(printed, "scheduled");
    std::string difference;
    EXPECT_TRUE(text::structural_equal(module, parsed, {.difference = &difference}))
        << kernel.name << ": " << difference << "\n"
        << printed;
    EXPECT_EQ(text::print(parsed), printed) << kernel.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, EverySchedule,
                         ::testing::Values("cpu", "opencl", "opencl:groups=gpu"),
                         [](const auto& info) { return target_test_name(info.param); });

}  // namespace
}  // namespace tapml::testing
