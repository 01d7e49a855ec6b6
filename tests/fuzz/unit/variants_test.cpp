// Other ways to compile a program.
#include "fuzz/oracles/variants.h"

#include <gtest/gtest.h>

#include <set>

#include "fuzz/generate/generate.h"
#include "fuzz/oracles/oracles.h"
#include "support/sessions.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::fuzz {
namespace {

Program two_kernels() {
  Program program;
  program.module = text::parse(R"(module
def main(x: Tensor((n, 8), f32)) -> Tensor((n, 8), f32) {
  dataflow {
    a: Tensor((n, 8), f32) = softmax(x) {axis: 0}
    b: Tensor((n, 8), f32) = cumsum(a) {axis: 0}
    c: Tensor((n, 8), f32) = cumsum(b) {axis: 0}
    output c
  }
  return c
})",
                               "test");
  program.arguments = {
      interp::Value::tensor(op::RefTensor::from(HostTensor::zeros(DType::kF32, {5, 8})))};
  return program;
}

std::shared_ptr<runtime::Session> null_session() { return testing::open_session("null"); }

TEST(Variants, StaticShapesHaveNoVariables) {
  const std::string text = text::print(formed_as("static shapes", two_kernels(), {}));
  EXPECT_EQ(text.find("n: i64"), std::string::npos) << text;
  EXPECT_NE(text.find("x: Tensor((5, 8), f32)"), std::string::npos) << text;
}

TEST(Variants, PassesAreLeftOutAndOrdered) {
  const Program program = two_kernels();
  std::vector<std::string> passes;
  pipeline::Instruments instruments;
  instruments.after = [&](const std::string& pass, const Module&) { passes.push_back(pass); };
  formed_as("without fuse_ops", program, instruments);
  EXPECT_EQ(std::ranges::find(passes, "fuse_ops"), passes.end());
  EXPECT_NE(std::ranges::find(passes, "fuse_tensor_ir"), passes.end());
  passes.clear();
  formed_as("order dead_code,name_shapes", program, instruments);
  EXPECT_EQ(passes, (std::vector<std::string>{"dead_code", "name_shapes"}));
}

TEST(Variants, MemoryIsCompared) {
  const Program program = two_kernels();
  const Module formed = formed_as("", program, {});
  EXPECT_EQ(memory_difference(formed, program, null_session()), "");
  Program longer = program;
  longer.arguments = {
      interp::Value::tensor(op::RefTensor::from(HostTensor::zeros(DType::kF32, {50, 8})))};
  EXPECT_EQ(memory_difference(formed, longer, null_session()), "");
}

TEST(Variants, EachKindIsDrawnAndAgrees) {
  Oracles oracles(
      {.targets = {},
       .open = [](target::Target& target) { return testing::open_session(target.text); },
       .mutants = 0,
       .variants = 1});
  std::set<std::string> kinds;
  for (uint64_t seed = 300; seed < 360; ++seed) {
    const Checked checked = oracles.check(generate(seed, {}, {}).program, seed);
    EXPECT_FALSE(checked.problem) << seed << " " << checked.variant << " "
                                  << checked.problem->message;
    const std::string kind = variant_kind(checked.variant);
    kinds.insert(kind.starts_with("without ") ? "without" : kind);
  }
  EXPECT_TRUE(kinds.contains("static shapes") && kinds.contains("without") &&
              kinds.contains("shuffled") && kinds.contains("memory"));
}

}  // namespace
}  // namespace tapml::fuzz
