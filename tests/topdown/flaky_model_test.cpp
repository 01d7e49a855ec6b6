// Models that are wrong only in some runs: no kernel is named.
#include <gtest/gtest.h>

#include <algorithm>

#include "topdown/asked_migration.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/kernels/skeleton.h"
#include "topdown/localize/localize.h"
#include "topdown/reference_run/repeated_check.h"
#include "topdown/report/localize_report.h"
#include "topdown/results/result_json.h"

namespace tapml::topdown {
namespace {

ModelCheck check_of(bool passed, bool hung = false) {
  ModelCheck check;
  check.passed = passed;
  check.hung = hung;
  return check;
}

TEST(RepeatedCheck, CountsHowOftenTheModelIsWrong) {
  const std::set<std::string> kernels = {"a", "b"};
  int runs = 0;
  EXPECT_EQ(repeat_check(check_of(true), kernels, [&] { return check_of(++runs < 0); }).runs, 0);
  EXPECT_EQ(runs, 0) << "what is right is not run again";
  RepeatedCheck repeated =
      repeat_check(check_of(false), kernels, [&] { return check_of(++runs > 100); });
  EXPECT_EQ(repeated.runs, 5);
  EXPECT_EQ(repeated.wrong, 5);
  EXPECT_FALSE(repeated.flaky());
  EXPECT_EQ(flaky_text(repeated), "");
  runs = 0;
  repeated = repeat_check(check_of(false), kernels, [&] { return check_of(++runs == 3); });
  EXPECT_EQ(repeated.wrong, 4);
  EXPECT_TRUE(repeated.flaky());
  EXPECT_EQ(flaky_text(repeated), "flaky: the model was wrong in 4 of 5 runs; candidates: a, b");
  runs = 0;
  repeated = repeat_check(check_of(false), kernels, [&] { return check_of(false, ++runs == 2); });
  EXPECT_EQ(repeated.runs, 3) << "a hang takes its time each time";
  EXPECT_FALSE(repeated.flaky());
}

// The product of the head, which runs once per token.
std::string head_kernel() {
  const Suite suite = carved();
  for (const SuiteCall& call : suite.calls) {
    const std::string& name = suite.kernels[static_cast<size_t>(call.kernel)].name;
    if (call.origin.layers.contains("lm_head") && name.starts_with("matmul")) return name;
  }
  ADD_FAILURE() << "no head";
  return "";
}

// Its source, correct in the launches of its tests, and wrong in every fourth launch after these.
CustomSource flaky_head(const testing::TempFolder& folder, int phase) {
  const target::Target target = target::parse_target("cpu");
  const Module fixed = pipeline::form_kernels(small_model().golden.model.module);
  std::string text = kernel_skeleton(fixed, head_kernel(), target);
  const std::string begin = "int64_t end) {\n";
  const size_t at = text.find(begin);
  EXPECT_NE(at, std::string::npos) << text;
  text.insert(at + begin.size(),
              "  static int launches = 0;\n  launches += begin == 0;\n"
              "  if (launches > 20 && (launches + " +
                  std::to_string(phase) + ") % 4 == 0) begin = end;\n");
  // One thread, so that each launch counts once.
  const std::string groups = " in groups of ";
  const size_t size = text.find(groups);
  EXPECT_NE(size, std::string::npos) << text;
  text.insert(size + groups.size(), "10000");
  testing::write_bytes(folder / "head.c", text);
  return read_custom_sources(folder / ".", target).at(0);
}

TEST(FlakyModel, MigrateNamesNoKernel) {
  testing::TempFolder folder;
  Asked asked = short_run();
  asked.custom_sources = {flaky_head(folder, 0)};
  const Migration migration = migrated(asked);
  EXPECT_FALSE(migration.passed());
  int flaky = 0;
  for (const MigrationStep& step : migration.steps) {
    EXPECT_TRUE(step.verdict.passed) << step.verdict.kernel;
    EXPECT_FALSE(step.accused()) << step.verdict.kernel << ": " << outcome_of(step);
    if (step.migrated) continue;
    ++flaky;
    EXPECT_EQ(outcome_of(step), "flaky");
    EXPECT_EQ(step.repeated.runs, 5);
    EXPECT_GE(step.repeated.wrong, 1);
    EXPECT_LT(step.repeated.wrong, 5);
    EXPECT_TRUE(std::ranges::count(step.repeated.candidates, head_kernel())) << "it is among them";
  }
  EXPECT_GE(flaky + (migration.repeated.flaky() ? 1 : 0), 1);
  const Json json = migration_json(migration);
  EXPECT_TRUE(json.find("culprits")->items().empty());
  EXPECT_EQ(std::ssize(json.find("flaky")->items()), flaky);
}

TEST(FlakyModel, LocalizeNamesNoKernel) {
  std::optional<Localization> found;
  // The first run of the model is correct in one of four phases.
  for (int phase = 0; phase < 2 && (!found || found->flaky.empty()); ++phase) {
    testing::TempFolder folder;
    LocalizeOptions options;
    options.validation_tokens = 2;
    options.cache = &kernel_cache();
    options.custom_sources = {flaky_head(folder, phase)};
    auto from = testing::open_session("cpu"), to = testing::open_session("cpu");
    const target::Target cpu = target::parse_target("cpu");
    found = localize(small_model().golden.model.module, small_model().golden.model.weights, kPrompt,
                     {cpu, from.get(), {}}, {cpu, to.get(), {}}, options);
    EXPECT_TRUE(found->culprits.empty());
  }
  ASSERT_EQ(found->flaky.size(), 1u);
  EXPECT_TRUE(found->found());
  const RepeatedCheck& flaky = found->flaky[0];
  EXPECT_EQ(flaky.runs, 5);
  EXPECT_TRUE(std::ranges::count(flaky.candidates, head_kernel()));
  EXPECT_NE(localization_text(*found).find("no kernel is named\n  flaky: the model was wrong in"),
            std::string::npos)
      << localization_text(*found);
  const Json json = localization_json(*found);
  EXPECT_TRUE(json.find("culprits")->items().empty());
  EXPECT_EQ(json.find("flaky")->items().size(), 1u);
}

}  // namespace
}  // namespace tapml::topdown
