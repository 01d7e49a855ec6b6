// The instructions that the VM runs for graph-level functions.
#include <gtest/gtest.h>

#include <algorithm>

#include "exec/validate.h"
#include "steps_program.h"

namespace tapml::pipeline {
namespace {

std::vector<const Instruction*> all_of(const VmFunction& function, Opcode op) {
  std::vector<const Instruction*> found;
  for (const Instruction& one : function.code) {
    if (one.op == op) found.push_back(&one);
  }
  return found;
}

TEST(LowerFunctions, EachCallOfAKernelIsASite) {
  const auto executable = compile_steps_program("cpu");
  EXPECT_TRUE(validate(*executable));
  ASSERT_NE(executable->find_function("prepare"), nullptr) << "packs w";
  const VmFunction* main = executable->find_function("main");
  ASSERT_NE(main, nullptr);
  EXPECT_EQ(main->params.size(), 3u) << "x, w and the packed w";
  const auto calls = all_of(*main, Opcode::kCallKernel);
  ASSERT_EQ(calls.size(), 3u);
  const char* const kernels[] = {"matmul_", "softmax_", "tanh_"};
  for (size_t i = 0; i < 3; ++i) {
    const CallSiteInfo& site = executable->call_sites.at(static_cast<size_t>(calls[i]->a));
    const std::string& name = executable->kernels.at(static_cast<size_t>(site.kernel)).name;
    EXPECT_TRUE(name.starts_with(kernels[i])) << name;
    EXPECT_EQ(site.function, "main");
  }
  EXPECT_GT(calls[0]->b, 0) << "reads the packed weight";
  EXPECT_GT(calls[1]->c, 0) << "has a workspace";
  EXPECT_EQ(calls[2]->b + calls[2]->c, 0);
  EXPECT_EQ(all_of(*main, Opcode::kReturn).size(), 1u);
  EXPECT_EQ(main->code.back().op, Opcode::kReturn);
}

// The first use of n defines it; the others are compared with it.
TEST(LowerFunctions, ParametersAreChecked) {
  const auto executable = compile_steps_program("null");
  const VmFunction& main = *executable->find_function("main");
  const auto checks = all_of(main, Opcode::kCheck);
  ASSERT_GE(checks.size(), 2u);
  const ValueCheck& x = main.checks.at(static_cast<size_t>(checks[0]->b));
  EXPECT_EQ(x.where, "parameter x of main");
  EXPECT_EQ(x.kind, ValueCheck::Kind::kTensor);
  EXPECT_EQ(x.dtype, DType::kF32);
  ASSERT_EQ(x.dims.size(), 2u);
  EXPECT_EQ(x.dims[0].define_slot, 0);
  EXPECT_EQ(x.dims[1].define_slot, -1);
  EXPECT_EQ(unwrap(evaluate(x.dims[1].equals, {})), 64);
}

// A call in the last place replaces its caller, so a loop runs in constant stack.
TEST(LowerFunctions, TailCallsAreMarked) {
  const auto executable = compile(text::parse(R"(module
def main(x: Tensor((n,), f32), times: Prim(i64, k)) -> Tensor((n,), f32) {
  y: Tensor((n,), f32) = for i in range(k) (a: Tensor((n,), f32) = x) {
    b: Tensor((n,), f32) = add(a, a)
    yield b
  }
  z: Tensor((n,), f32) = negative(y)
  return z
}
)",
                                              "program"),
                                  target::parse_target("null"));
  const VmFunction* loop = executable->find_function("main.loop");
  ASSERT_NE(loop, nullptr);
  const auto again = all_of(*loop, Opcode::kCallFunction);
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0]->c, kTailCall);
  EXPECT_EQ(executable->functions.at(static_cast<size_t>(again[0]->b)).name, "main.loop");
  EXPECT_EQ(all_of(*loop, Opcode::kBranchIfNot).size(), 1u);
  const auto first = all_of(*executable->find_function("main"), Opcode::kCallFunction);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0]->c, 0) << "negative follows";
}

}  // namespace
}  // namespace tapml::pipeline
