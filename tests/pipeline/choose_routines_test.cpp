// Kernels that library routines implement need no code of their own.
#include <gtest/gtest.h>

#include "exec/library_code.h"
#include "steps_program.h"

namespace tapml::pipeline {
namespace {

TEST(ChooseRoutines, ARoutineIsOneLaunchWithoutGeneratedCode) {
  const auto executable = compile_steps_program("cpu:libs=openblas");
  const Implementation& matmul = implementation_of(*executable, "matmul_");
  EXPECT_EQ(matmul.provider, "library:openblas.matmul");
  ASSERT_EQ(matmul.launches.size(), 1u);
  EXPECT_EQ(matmul.launches[0].buffers, (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(matmul.launches[0].scalars, std::vector<int32_t>{0});
  EXPECT_FALSE(has_prepared(matmul)) << "the routine gets the weights as they are";
  const Implementation& tanh = implementation_of(*executable, "tanh_");
  EXPECT_TRUE(tanh.provider.starts_with("schedule:")) << tanh.provider;
  // Generated code first, then a module of calls.
  ASSERT_EQ(executable->modules.size(), 2u);
  EXPECT_EQ(tanh.module, 0);
  EXPECT_EQ(matmul.module, 1);
  for (const std::string& entry : executable->modules[0].entries) {
    EXPECT_FALSE(entry.starts_with("matmul_")) << entry;
  }
  EXPECT_EQ(executable->modules[1].entries, std::vector{matmul.launches[0].entry});
}

TEST(ChooseRoutines, LeftOutEveryKernelIsGenerated) {
  ImplementOptions options;
  leave_out({"choose_routines"}, "test", options);
  const auto executable = compile_steps_program("cpu:libs=openblas", options);
  EXPECT_EQ(executable->modules.size(), 1u);
  for (const Implementation& one : executable->implementations) {
    EXPECT_TRUE(one.provider.starts_with("schedule:")) << one.provider;
  }
}

// Some kernels only.
TEST(ChooseRoutines, TheCallerNamesKernels) {
  ImplementOptions options;
  std::vector<std::string> asked;
  options.from_libraries = [&](const std::string& kernel) {
    asked.push_back(kernel.substr(0, kernel.find('_')));
    return false;
  };
  const auto executable = compile_steps_program("cpu:libs=openblas", options);
  EXPECT_EQ(asked, (std::vector<std::string>{"matmul", "softmax", "tanh"}));
  EXPECT_TRUE(implementation_of(*executable, "matmul_").provider.starts_with("schedule:"));
}

}  // namespace
}  // namespace tapml::pipeline
