// Which kernels a run may launch, and which of them are untested.
#include "topdown/suite/coverage.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

// Two functions that call each other, and one that is never called; a closure.
Executable program() {
  Executable executable;
  for (const char* name : {"a_1", "b_2", "c_3", "d_4"}) {
    executable.kernels.push_back({.name = name});
  }
  executable.call_sites = {{0, "main", {"net.a"}},
                           {1, "helper", {"net.b"}},
                           {0, "helper", {"net.c"}},
                           {2, "made", {"net.d"}},
                           {3, "alone", {"net.e"}}};
  auto call = [](Opcode op, int32_t a, int32_t b) {
    Instruction one;
    one.op = op;
    one.a = a;
    one.b = b;
    return one;
  };
  auto function = [](const char* name, std::vector<Instruction> code) {
    VmFunction one;
    one.name = name;
    one.code = std::move(code);
    return one;
  };
  executable.functions = {
      function("main", {call(Opcode::kCallKernel, 0, 0), call(Opcode::kCallFunction, 0, 1),
                        call(Opcode::kMakeClosure, 0, 2)}),
      function("helper", {call(Opcode::kCallKernel, 1, 0), call(Opcode::kCallKernel, 2, 0),
                          call(Opcode::kCallFunction, 0, 0)}),
      function("made", {call(Opcode::kCallKernel, 3, 0)}),
      function("alone", {call(Opcode::kCallKernel, 4, 0)})};
  return executable;
}

TEST(Coverage, CallsOfAFunctionCountWithTheirLayers) {
  const Executable executable = program();
  const std::vector<KernelUse> called = called_kernels(executable, {"main"});
  EXPECT_EQ(names_of(called), (std::vector<std::string>{"a_1", "b_2", "c_3"}));
  EXPECT_EQ(called[0].origin, (Origin{"net.a", "net.c"}));
  EXPECT_EQ(called[2].origin, Origin{"net.d"});
  EXPECT_EQ(names_of(called_kernels(executable, {"alone"})), std::vector<std::string>{"d_4"});
  EXPECT_TRUE(called_kernels(executable, {"none"}).empty());
  EXPECT_TRUE(called_kernels(executable, {}).empty());
}

TEST(Coverage, ACallAndAGroupAreTests) {
  const std::vector<KernelUse> called = called_kernels(program(), {"main", "alone"});
  Suite suite;
  suite.kernels = {{.name = "a_1"}, {.name = "b_2"}, {.name = "c_3"}};
  suite.calls = {{.kernel = 0}};
  suite.groups.emplace_back().calls = {{.kernel = 2}};
  const std::vector<KernelUse> untested = untested_kernels(called, suite);
  EXPECT_EQ(names_of(untested), (std::vector<std::string>{"b_2", "d_4"}));
  EXPECT_EQ(untested_text(untested), "2 kernels are untested: b_2 (net.b), d_4 (net.e)");
  EXPECT_EQ(untested_text(untested, 1), "2 kernels are untested: b_2 (net.b) and 1 more");
  EXPECT_EQ(untested_text({}), "");
  // From the suite only: its own list, and kernels without a call; each once.
  suite.untested = {{"b_2", {"net.b"}}, {"e_5", {}}};
  EXPECT_EQ(names_of(untested_kernels(suite)), (std::vector<std::string>{"b_2", "e_5"}));
}

TEST(Coverage, AGenerationCallsItsSamplingKernels) {
  const Executable& executable = *small_model().executable;
  DeviceInfo with, without;
  with.features.compute_dtypes = {DType::kF32, DType::kF64};
  without.features.compute_dtypes = {DType::kF32};
  EXPECT_EQ(generation_functions(executable, 0, with),
            (std::vector<std::string>{"prefill", "decode", "sample"}));
  EXPECT_EQ(generation_functions(executable, 0, with, true),
            (std::vector<std::string>{"prefill", "decode", "embed_image", "sample"}));
  EXPECT_EQ(generation_functions(executable, 0.5, with).back(), "draw");
  EXPECT_EQ(generation_functions(executable, 0.5, without),
            (std::vector<std::string>{"prefill", "decode"}));
  const auto has = [](const std::vector<KernelUse>& kernels, const std::string& begin) {
    return std::ranges::any_of(kernels,
                               [&](const KernelUse& use) { return use.kernel.starts_with(begin); });
  };
  const auto greedy = called_kernels(executable, generation_functions(executable, 0, with));
  const auto drawn = called_kernels(executable, generation_functions(executable, 0.5, with));
  EXPECT_TRUE(has(greedy, "argmax"));
  EXPECT_FALSE(has(greedy, "draw_token"));
  EXPECT_TRUE(has(drawn, "draw_token"));
}

// A carver's report about its run: a prompt-only run tests no kernel of the decode step.
TEST(Coverage, ACarverKnowsWhatItsRunDidNotCall) {
  const Executable& executable = *small_model().executable;
  auto engine = small_model().engine();
  CarveOptions options;
  options.functions = {"prefill", "decode"};
  Carver carver(executable, options);
  engine->local_vm().call_point().set_observer(&carver);
  unwrap(engine->clear());
  unwrap(engine->prefill(kPrompt));
  const std::vector<KernelUse> decode =
      untested_kernels(called_kernels(executable, {"decode"}), carver.suite());
  ASSERT_FALSE(decode.empty());
  const Suite begun = carver.so_far("the carve did not end");
  EXPECT_EQ(begun.incomplete, "the carve did not end");
  EXPECT_EQ(names_of(begun.untested), names_of(decode));
  for (const KernelUse& use : begun.untested) {
    EXPECT_FALSE(use.origin.layers.empty()) << use.kernel;
    EXPECT_FALSE(use.origin.lines.empty()) << use.kernel;
  }
  unwrap(engine->decode(9));
  const Suite suite = carver.take();
  EXPECT_EQ(suite.incomplete, "");
  EXPECT_TRUE(suite.untested.empty()) << untested_text(suite.untested);
}

}  // namespace
}  // namespace tapml::topdown
