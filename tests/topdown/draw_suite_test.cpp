// Sampling kernels are carved, compared with the reference and replayed like any kernel.
#include <gtest/gtest.h>

#include "passes/kernel.h"
#include "support/sessions.h"
#include "topdown/faults/inject_fault.h"
#include "topdown/replay/replay.h"
#include "topdown/small_model.h"

namespace tapml::topdown {
namespace {

Suite carved_at(const llm::SamplerOptions& sampler, int64_t tokens) {
  auto engine = small_model().engine();
  Carver carver(*small_model().executable);
  engine->local_vm().call_point().set_observer(&carver);
  unwrap(engine->generate(kPrompt, {.max_tokens = tokens, .eos = {}, .sampler = sampler}));
  engine->local_vm().call_point().set_observer(nullptr);
  return carver.take();
}

const Suite& drawn_suite() {
  static const Suite suite = carved_at({.temperature = 1.1, .top_p = 0.95, .seed = 4}, 8);
  return suite;
}

int32_t kernel_called(const std::string& prefix) {
  for (size_t k = 0; k < drawn_suite().kernels.size(); ++k) {
    if (drawn_suite().kernels[k].name.starts_with(prefix)) return static_cast<int32_t>(k);
  }
  ADD_FAILURE() << "no kernel " << prefix;
  return -1;
}

KernelVerdict replayed(int32_t kernel, const std::string& platform,
                       const std::function<tir::PrimFuncRef(const tir::PrimFunc&)>& change = {}) {
  KernelReference reference(drawn_suite());
  auto session = testing::open_session(platform);
  pipeline::ImplementOptions options;
  const std::string name = drawn_suite().kernels[static_cast<size_t>(kernel)].name;
  if (change) {
    options.rewrite = [&](const std::string& own, tir::PrimFuncRef scheduled) {
      return own == name ? change(*scheduled) : scheduled;
    };
  }
  auto executable =
      pipeline::implement(reference.module(), target::parse_target(platform), options);
  auto runner = unwrap(runtime::KernelRunner::create(*session, executable));
  return unwrap(replay_kernel(drawn_suite(), reference, kernel, *runner));
}

TEST(DrawSuite, ContainsTheSortAndTheDrawWithItsState) {
  const int32_t sort = kernel_called("topk"), draw = kernel_called("draw_token");
  int sorts = 0;
  std::vector<int64_t> before, after;
  for (const SuiteCall& call : drawn_suite().calls) {
    sorts += call.kernel == sort;
    if (call.kernel != draw) continue;
    EXPECT_EQ(call.function, "draw");
    EXPECT_EQ(call.origin.layers, std::set<std::string>{"draw"});
    const auto& params = drawn_suite().kernels[static_cast<size_t>(draw)].params;
    const auto state =
        static_cast<size_t>(std::find(params.begin(), params.end(), "state") - params.begin());
    ASSERT_LT(state, params.size());
    before.push_back(drawn_suite().tensors.at(call.before[state]).values<int64_t>()[1]);
    after.push_back(drawn_suite().tensors.at(call.after[state]).values<int64_t>()[1]);
  }
  EXPECT_EQ(sorts, 8);
  EXPECT_EQ(before, (std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(after, (std::vector<int64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(DrawSuite, TheReferenceDecidesEveryElement) {
  KernelReference reference(drawn_suite());
  const int32_t sort = kernel_called("topk"), draw = kernel_called("draw_token");
  for (size_t c = 0; c < drawn_suite().calls.size(); ++c) {
    const SuiteCall& call = drawn_suite().calls[c];
    if (call.kernel != draw && call.kernel != sort) continue;
    for (const op::RefTensor& output : reference.outputs(c, {})) {
      for (size_t i = 0; i < output.values.size(); ++i) EXPECT_EQ(output.bound[i], 0);
    }
  }
}

TEST(DrawSuite, PassesOnEveryPlatform) {
  for (const char* platform : {"cpu", "opencl", "vulkan"}) {
    if (!testing::open_session(platform)) continue;
    for (const char* kernel : {"topk", "draw_token"}) {
      const KernelVerdict verdict = replayed(kernel_called(kernel), platform);
      EXPECT_TRUE(verdict.passed) << platform << ": " << kernel;
      EXPECT_FALSE(verdict.source_wrong) << platform << ": " << kernel;
      EXPECT_EQ(verdict.worst.allowed, 0) << kernel << " is discrete";
    }
  }
}

TEST(DrawSuite, PlatformsWithoutF64RunTheRest) {
  const target::Target target = target::parse_target("opencl:for=adreno-740,subgroups=0");
  auto session = testing::open_session("opencl");
  if (!session) GTEST_SKIP() << "opencl is unavailable";
  KernelReference reference(drawn_suite());
  Module module;
  for (const char* kernel : {"topk", "draw_token"}) {
    const std::string& name =
        drawn_suite().kernels[static_cast<size_t>(kernel_called(kernel))].name;
    Module alone = passes::kernel_alone(reference.module(), name);
    module.functions.insert(alone.functions.begin(), alone.functions.end());
  }
  module.attrs = reference.module().attrs;
  auto runner =
      unwrap(runtime::KernelRunner::create(*session, pipeline::implement(module, target)));
  EXPECT_TRUE(
      unwrap(replay_kernel(drawn_suite(), reference, kernel_called("topk"), *runner)).passed);
  const KernelVerdict verdict =
      unwrap(replay_kernel(drawn_suite(), reference, kernel_called("draw_token"), *runner));
  EXPECT_FALSE(verdict.passed);
  EXPECT_EQ(verdict.failed, Failure::kRefused);
  EXPECT_NE(verdict.failure.find("dtype that opencl"), std::string::npos) << verdict.failure;
}

// A loop that runs one step too few, a wrong constant, a reversed comparison.
TEST(DrawSuite, InjectedFaultsAreFound) {
  const int32_t draw = kernel_called("draw_token");
  for (FaultKind kind : {FaultKind::kOffByOne, FaultKind::kWrongConstant,
                         FaultKind::kSwappedOperands, FaultKind::kShiftedIndex}) {
    KernelReference reference(drawn_suite());
    auto session = testing::open_session("cpu");
    Sandbox sandbox({target::parse_target("cpu"), session.get()});
    const FaultyKernel faulty =
        inject_fault(drawn_suite(), reference,
                     drawn_suite().kernels[static_cast<size_t>(draw)].name, kind, sandbox);
    const KernelVerdict verdict =
        replayed(draw, "cpu", [&](const tir::PrimFunc&) { return faulty.implementation; });
    EXPECT_FALSE(verdict.passed) << fault_kind_name(kind);
    EXPECT_FALSE(verdict.source_wrong) << fault_kind_name(kind);
    EXPECT_TRUE(verdict.worst_output == "tokens" || verdict.worst_output == "state")
        << verdict.worst_output;
  }
}

}  // namespace
}  // namespace tapml::topdown
