// Calls that carving adds to a run's own find faults that a short run of one text does not show.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "llm/engine.h"
#include "pipeline/compile.h"
#include "support/compiled_models.h"
#include "support/sessions.h"
#include "support/temp_folder.h"
#include "text/parser.h"
#include "text/printer.h"
#include "topdown/replay/edge_cases.h"
#include "topdown/replay/replay.h"
#include "topdown/small_model.h"
#include "topdown/suite/carve.h"
#include "topdown/suite/merge_suites.h"
#include "topdown/text_fault.h"

namespace tapml::topdown {
namespace {

// A prompt and two decode steps, and with `added` the calls that carving adds.
Suite carved_with(const testing::CompiledModel& model, bool added, int64_t budget = 0) {
  auto engine = model.engine({.fragmented = true});
  CarveOptions options;
  options.budget_bytes = budget;
  options.fragmented = &model.golden.model.weights;
  Carver carver(*model.executable, options);
  unwrap(engine->vm().set_capture(carver.plan(), &carver));
  unwrap(engine->generate(kPrompt, {.max_tokens = 3}));
  unwrap(engine->vm().set_capture({}, nullptr));
  if (added) unwrap(carve_mixed_batch(*engine, carver));
  Suite suite = carver.take();
  if (added) {
    Sandbox source({target::parse_target("cpu"), model.session.get()});
    source.load(model.executable);
    const EdgeCases cases = add_choice_cases(suite, source);
    EXPECT_TRUE(cases.unsupported.empty()) << cases.unsupported.front();
  }
  return suite;
}

const Suite& suite_of(const std::string& model, bool added) {
  static std::map<std::pair<std::string, bool>, Suite> suites;
  auto [known, fresh] = suites.try_emplace({model, added});
  if (fresh) known->second = carved_with(*testing::compiled_model("cpu", model), added);
  return known->second;
}

TEST(AddedCalls, LeaveTheRunsOwnCallsAndAreMarked) {
  const Suite &plain = suite_of("mqa_tied", false), &more = suite_of("mqa_tied", true);
  std::set<std::string> own, found;
  for (const SuiteCall& call : plain.calls) own.insert(test_key(call));
  std::map<std::string, int> added;
  for (const SuiteCall& call : more.calls) {
    if (!call.added) {
      found.insert(test_key(call));
      continue;
    }
    EXPECT_EQ(call.times, 1);
    std::string kind = call.function + " " + std::to_string(call.kernel);
    for (const int64_t scalar : call.scalars) kind += " " + std::to_string(scalar);
    EXPECT_LE(++added[kind], 2) << kind;
  }
  EXPECT_EQ(found, own);
  std::set<std::string> functions;
  for (const auto& [kind, count] : added) functions.insert(kind.substr(0, kind.find(' ')));
  EXPECT_EQ(functions, (std::set<std::string>{"prefill", "decode", "sample"}));
  for (const SuiteKernel& kernel : more.kernels) EXPECT_EQ(kernel.dropped, 0) << kernel.name;
  EXPECT_TRUE(more.untested.empty());
}

TEST(AddedCalls, StayMarkedInFilesAndMergedSuites) {
  const Suite& suite = suite_of("mqa_tied", true);
  const auto marked = [](const Suite& some) {
    return std::ranges::count(some.calls, true, &SuiteCall::added);
  };
  ASSERT_GT(marked(suite), 10);
  const testing::TempFolder folder;
  unwrap(save_suite(suite, folder / "s"));
  EXPECT_EQ(marked(unwrap(load_suite(folder / "s"))), marked(suite));
  EXPECT_EQ(marked(merge({suite, suite}, {"a", "b"})), marked(suite));
  // A call that another suite has of its run is one of a run.
  Suite of_run = suite;
  for (SuiteCall& call : of_run.calls) call.added = false;
  for (const auto& order : {std::vector{suite, of_run}, std::vector{of_run, suite}}) {
    const Suite merged = merge(order, {"a", "b"});
    EXPECT_EQ(marked(merged), 0);
    EXPECT_EQ(merged.calls.size(), suite.calls.size());
  }
}

// A budget drops added calls without counting them among those of the run.
TEST(AddedCalls, ThatABudgetDropsDoNotCount) {
  const Suite small = carved_with(*testing::compiled_model("cpu", "mqa_tied"), true, 1);
  const Suite& whole = suite_of("mqa_tied", false);
  int64_t kept = 0, dropped = 0, times = 0;
  for (const SuiteCall& call : small.calls) kept += call.added ? 0 : call.times;
  for (const SuiteKernel& kernel : small.kernels) dropped += kernel.dropped;
  for (const SuiteCall& call : whole.calls) times += call.times;
  EXPECT_EQ(kept + dropped, times);
  EXPECT_GT(dropped, 0);
}

class HiddenFaults : public ::testing::TestWithParam<TextFault> {};

TEST_P(HiddenFaults, AreFoundByAddedCallsAlone) {
  int altered = 0;
  EXPECT_TRUE(failing(suite_of(GetParam().model, false), GetParam(), altered).empty())
      << "the run's own calls find it";
  ASSERT_GT(altered, 0) << "no kernel has the text";
  EXPECT_FALSE(failing(suite_of(GetParam().model, true), GetParam(), altered).empty());
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, HiddenFaults,
    ::testing::Values(
        TextFault{"FirstTextsPages", "paged_attention", "page_table[vi, ", "page_table[0, "},
        TextFault{"FirstTextsLength", "rope", "lengths[vi]", "lengths[0]"},
        TextFault{"AppendsToTheFirstText", "kv_append", "page_table[vi, ", "page_table[0, "},
        TextFault{"AppendsAcrossNoPage", "kv_append", "(cast(i64, lengths[vi]) + vj)//16",
                  "cast(i64, lengths[vi])//16"},
        TextFault{"TwoPages", "paged_attention", "page_table[vi, vl//16]",
                  "page_table[vi, min(vl//16, 1)]"},
        TextFault{"SixtyPositions", "paged_attention", "vl <= cast(i64, lengths[vi]) + vk",
                  "vl <= min(cast(i64, lengths[vi]) + vk, 60)"},
        TextFault{"NoLastToken", "take",
                  "select(0 <= ", "select(indices[vi, vj] < i32(408) and 0 <= "},
        TextFault{"ZeroIsPadding", "take", "select(0 <= ", "select(0 < "},
        TextFault{"LargestFromZero", "argmax", "f32(-inf)", "f32(0.0)"},
        TextFault{"ComparedInBf16", "argmax", "x[vi, vr] == best[vi]",
                  "cast(bf16, x[vi, vr]) == cast(bf16, best[vi])"},
        TextFault{"LastOfEqualExperts", "topk", "]])] < x[", "]])] <= x[", "qwen2_moe"},
        TextFault{
            "ExpertsComparedInBf16", "topk", "x[vi, vj, cast(i64, order[vi, vj, state[0]])] <",
            "cast(f32, cast(bf16, x[vi, vj, cast(i64, order[vi, vj, state[0]])])) <", "qwen2_moe"}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tapml::topdown
