// Other ways to compile a program.
#include "fuzz/oracles/variants.h"

#include <gtest/gtest.h>

#include <set>

#include "fuzz/generate/generate.h"
#include "fuzz/oracles/oracles.h"
#include "support/seeds.h"
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

// A bounded campaign: fixed programs, then fresh ones, each in another way, too.
TEST(Campaign, FindsNothing) {
  const auto open = [](target::Target& target) { return testing::open_session(target.text); };
  Oracles oracles({.open = open, .native = 0.1, .mutants = 0.5, .variants = 1});
  testing::Seeds seeds(60);
  std::set<std::string> kinds;
  int count = 0;
  while (const auto seed = seeds.next()) {
    SCOPED_TRACE("TAPML_SEED=" + std::to_string(*seed));
    const Program program = generate(*seed, {}, {}).program;
    const Checked checked = oracles.check(program, *seed);
    EXPECT_TRUE(checked.valid) << checked.invalid;
    const std::string kind = variant_kind(checked.variant);
    kinds.insert(kind.starts_with("without ") ? "without" : kind);
    ++count;
    if (!checked.problem) continue;
    ADD_FAILURE() << checked.problem->signature() << "\n"
                  << checked.problem->message << "\n"
                  << checked.problem->variant << (checked.of_mutant ? " (of its mutant)" : "")
                  << "\n"
                  << text::print(program.module);
    break;  // more findings are likely the same
  }
  printf("%d programs\n", count);
  if (count < 60) return;
  EXPECT_TRUE(kinds.contains("static shapes") && kinds.contains("without") &&
              kinds.contains("shuffled") && kinds.contains("memory"));
}

}  // namespace
}  // namespace tapml::fuzz
