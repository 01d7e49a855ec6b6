// The last line of commands that validate, and their table of kernels.
#include <gtest/gtest.h>

#include "topdown/report/ci_report.h"
#include "topdown/report/localize_report.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/wrong_migration.h"

namespace tapml::topdown {
namespace {

KernelVerdict verdict_of(const std::string& kernel, bool passed, int64_t calls) {
  KernelVerdict one;
  one.kernel = kernel;
  one.passed = passed;
  one.calls = calls;
  one.outputs = {{"y", 10, 10, 0}};
  return one;
}

MigrationStep step_of(const KernelVerdict& verdict) {
  MigrationStep step;
  step.verdict = verdict;
  step.migrated = verdict.passed;
  return step;
}

const KernelUse kOneUntested = {"c_3", {"model.norm"}};

TEST(VerdictLine, OfAReplay) {
  Replayed replayed;
  replayed.verdicts = {verdict_of("a_1", true, 1), verdict_of("b_2", true, 3)};
  EXPECT_EQ(verdict_line(replayed).text(), "PASS 2 of 2 kernels, 4 calls");
  replayed.untested = {kOneUntested};
  EXPECT_EQ(verdict_line(replayed).text(), "NOT PROVEN 2 of 3 kernels, 4 calls, 1 untested");
  EXPECT_EQ(replay_verdict(replayed),
            "All 2 kernels are within their bounds, but 1 kernel is untested: c_3 (model.norm).");
  replayed.incomplete = "interrupted";
  EXPECT_EQ(verdict_line(replayed).text(),
            "NOT PROVEN 2 of 3 kernels, 4 calls, 1 untested, the suite incomplete");
  replayed.untested.clear();
  EXPECT_EQ(verdict_line(replayed).verdict, Verdict::kNotProven);
  replayed.verdicts.push_back(verdict_of("d_4", false, 1));
  EXPECT_EQ(verdict_line(replayed).text(),
            "FAIL 2 of 3 kernels, 5 calls, 1 wrong, the suite incomplete");
  EXPECT_FALSE(replayed.passed());
}

// A kernel with an output that any values would pass is not proven; single elements without a bound
// are counted.
TEST(VerdictLine, OutputsWithoutABound) {
  Replayed replayed;
  KernelVerdict open = verdict_of("a_1", true, 1);
  open.outputs = {{"y", 10, 10, 9}};
  EXPECT_EQ(verdict_outcome(open), "pass");
  EXPECT_EQ(open_text(open), "9 of 10 elements have no bound");
  replayed.verdicts = {open, verdict_of("b_2", true, 1)};
  EXPECT_EQ(verdict_line(replayed).text(),
            "PASS 2 of 2 kernels, 2 calls, 9 elements of 1 kernel without a bound");

  replayed.verdicts[0].outputs.push_back({"z", 4, 4, 4});
  EXPECT_EQ(verdict_outcome(replayed.verdicts[0]), "not proven");
  EXPECT_EQ(verdict_line(replayed).text(),
            "NOT PROVEN 1 of 2 kernels, 2 calls, 1 not proven, 13 elements of 1 kernel without a "
            "bound");
  EXPECT_EQ(replay_verdict(replayed),
            "All 2 kernels are within their bounds, but 1 kernel has an output without a bound: "
            "a_1 (no element of z has a bound).");

  Migration migration;
  for (const KernelVerdict& verdict : replayed.verdicts) {
    migration.steps.push_back(step_of(verdict));
  }
  migration.target_ran = migration.whole.passed = true;
  EXPECT_EQ(outcome_of(migration.steps[0]), "not proven");
  EXPECT_EQ(verdict_line(migration).text(),
            "NOT PROVEN 1 of 2 kernels, 2 calls, 1 not proven, 13 elements of 1 kernel without a "
            "bound");
  EXPECT_EQ(migration_verdict(migration),
            "Nothing is wrong in what was tested, but 1 kernel has an output without a bound: a_1 "
            "(no element of z has a bound).");

  Localization localization;
  localization.verdicts = replayed.verdicts;
  EXPECT_EQ(verdict_line(localization).text(),
            "NOT PROVEN 1 of 2 kernels, 2 calls, 1 not proven, 13 elements of 1 kernel without a "
            "bound");
  EXPECT_EQ(localization_text(localization),
            "nothing is wrong in what was tested on " + localization.target +
                ", but 1 kernel has an output without a bound: a_1 (no element of z has a bound)");

  const CiReport report = ci_report("suite", replayed);
  EXPECT_EQ(report.cases[0].result, CiCase::Result::kSkipped);
  EXPECT_EQ(report.cases.back().name, "coverage");
  EXPECT_EQ(report.cases.back().result, CiCase::Result::kFailed);
}

TEST(VerdictLine, StatesItsEvidence) {
  Replayed replayed;
  KernelVerdict one = verdict_of("a_1", true, 1);
  one.outputs[0].elements = 1000;
  KernelVerdict two = verdict_of("b_2", true, 1);
  two.outputs[0].elements = 20;
  two.against_source = true;
  two.source_wrong = true;
  KernelVerdict three = verdict_of("c_3", true, 1);
  three.tolerated = true;
  replayed.verdicts = {one, two, three};
  EXPECT_EQ(
      verdict_line(replayed).text(),
      "PASS 3 of 3 kernels, 3 calls, 20 of 1020 elements of 2 kernels compared, 1 compared with "
      "the source only, 1 within a widened bound, 1 source wrong");
  replayed.verdicts[0].allowances = replayed.verdicts[2].allowances = "precision=tf32";
  replayed.verdicts.push_back(verdict_of("d_4", false, 1));
  replayed.verdicts[3].allowances = "precision=tf32";
  EXPECT_EQ(
      verdict_line(replayed).text(),
      "FAIL 3 of 4 kernels, 4 calls, 1 wrong, 20 of 1020 elements of 2 kernels compared, 1 "
      "compared with the source only, 1 within a widened bound, 2 with precision=tf32 allowed, 1 "
      "source wrong")
      << "a kernel that is wrong needs nothing";
}

TEST(VerdictLine, OfGroupsOfKernels) {
  Replayed replayed;
  replayed.verdicts = {verdict_of("a_1 + b_2", true, 2)};
  replayed.verdicts[0].group.emplace();
  EXPECT_EQ(verdict_line(replayed).text(), "PASS 1 of 1 group, 2 calls");
  replayed.verdicts.push_back(verdict_of("c_3", true, 1));
  EXPECT_EQ(verdict_line(replayed).text(), "PASS 1 of 1 kernel, 1 of 1 group, 3 calls");
}

TEST(VerdictLine, OfAMigration) {
  Migration migration;
  migration.steps = {step_of(verdict_of("a_1", true, 2)), step_of(verdict_of("b_2", true, 3))};
  migration.target_ran = true;
  EXPECT_EQ(verdict_line(migration).text(), "PASS 2 of 2 kernels, 5 calls");
  EXPECT_TRUE(migration.passed());
  migration.untested = {kOneUntested};
  EXPECT_EQ(verdict_line(migration).text(), "NOT PROVEN 2 of 3 kernels, 5 calls, 1 untested");
  EXPECT_EQ(migration_verdict(migration),
            "Nothing is wrong in what was tested, but 1 kernel is untested: c_3 (model.norm).");
  EXPECT_FALSE(migration.passed());
  EXPECT_TRUE(migration.whole_passed());
  // The model is wrong: the untested kernels are named, not the memory plan.
  migration.whole.passed = false;
  EXPECT_EQ(verdict_line(migration).text(),
            "FAIL 2 of 3 kernels, 5 calls, 1 untested, the whole model wrong");
  EXPECT_EQ(
      migration_verdict(migration),
      "Every kernel with tests migrated, and the target alone is wrong; 1 kernel is untested: "
      "c_3 (model.norm). Check the untested kernels first.");
  migration.untested.clear();
  EXPECT_NE(migration_verdict(migration).find("memory plan"), std::string::npos);
  migration.whole.passed = true;
  migration.first_divergence = 3;
  EXPECT_EQ(migration.verdict(), Verdict::kFail);
  migration.tie = true;
  EXPECT_EQ(migration.verdict(), Verdict::kPass);
  migration.steps[1].migrated = false;
  migration.target_ran = false;
  migration.untried = {"d_4"};
  EXPECT_EQ(verdict_line(migration).text(), "FAIL 1 of 3 kernels, 5 calls, 1 wrong, 1 not tried");
}

TEST(VerdictLine, OfSeveralTargets) {
  Migration right;
  right.steps = {step_of(verdict_of("a_1", true, 2))};
  right.target_ran = true;
  Migrations both;
  both.targets = {right, right};
  EXPECT_EQ(verdict_line(both).text(), "PASS 2 of 2 targets, 2 of 2 kernels, 4 calls");
  both.targets[1].untested = {kOneUntested};
  EXPECT_EQ(verdict_line(both).text(),
            "NOT PROVEN 1 of 2 targets, 2 of 3 kernels, 4 calls, 1 untested");
  both.targets[1].error = platform_error(PlatformFault::kLost, "gone");
  EXPECT_EQ(both.verdict(), Verdict::kNotProven);
  both.targets[0].steps[0].migrated = false;
  EXPECT_EQ(
      verdict_line(both).text(),
      "FAIL 0 of 2 targets, 1 of 3 kernels, 4 calls, 1 wrong, 1 untested, 1 target ended by an "
      "error");
}

TEST(VerdictLine, OfALocalization) {
  Localization localization;
  localization.target = "opencl";
  localization.verdicts = {verdict_of("a_1", true, 2), verdict_of("b_2", true, 1)};
  localization.target_ran = true;
  EXPECT_EQ(verdict_line(localization).text(), "PASS 2 of 2 kernels, 3 calls");
  localization.untested = {kOneUntested};
  EXPECT_EQ(verdict_line(localization).text(), "NOT PROVEN 2 of 3 kernels, 3 calls, 1 untested");
  EXPECT_EQ(localization_text(localization),
            "nothing is wrong in what was tested on opencl, but 1 kernel is untested: c_3 "
            "(model.norm)");
  localization.whole.passed = false;
  EXPECT_EQ(localization_text(localization),
            "no kernel with tests is wrong on opencl, but the model is; 1 kernel is untested: c_3 "
            "(model.norm)");
  Culprit culprit;
  culprit.kernel = "c_3";
  culprit.verdict.kernel = "c_3";
  culprit.evidence = Evidence::kHybrid;
  culprit.hybrid.passed = false;
  localization.culprits = {culprit};
  localization.target_ran = false;
  EXPECT_EQ(verdict_line(localization).text(), "FAIL 2 of 3 kernels, 3 calls, 1 wrong");
  EXPECT_NE(culprit_text(culprit, false).find("it has no tests; logits with it"),
            std::string::npos);
  culprit.verdict.calls = 1;
  EXPECT_NE(culprit_text(culprit, false).find("its tests pass; logits with it"), std::string::npos);
}

TEST(VerdictLine, OfSuitesTasksAndDevices) {
  SuiteCheck check;
  check.suite.kernels.resize(2);
  check.suite.calls.resize(3);
  check.tensors = 1;
  EXPECT_EQ(verdict_line(check).text(), "PASS 2 kernels, 3 calls, 1 tensor");
  check.suite.incomplete = "interrupted";
  EXPECT_EQ(verdict_line(check).text(),
            "NOT PROVEN 2 kernels, 3 calls, 1 tensor, the suite incomplete");
  check.faults.push_back(user_error("altered", "x"));
  EXPECT_EQ(verdict_line(check).verdict, Verdict::kFail);

  EvalTotal total;
  total.tasks = 5;
  total.tokens = 40;
  EXPECT_EQ(verdict_line({{.passed = true}, {.passed = false}}, total).text(),
            "FAIL 1 of 2 targets, 5 tasks, 40 tokens");
  EXPECT_EQ(verdict_line({{.passed = true}}, total).text(),
            "PASS 1 of 1 target, 5 tasks, 40 tokens");

  EXPECT_EQ(device_verdict_line(7, 7, 2).text(), "PASS 7 of 7 checks, 2 devices");
  EXPECT_EQ(device_verdict_line(6, 7, 1).text(), "FAIL 6 of 7 checks, 1 device");
  EXPECT_EQ(device_verdict_line(0, 0, 0).text(), "NOT PROVEN 0 of 0 checks, 0 devices");
}

TEST(VerdictTable, NamesTheCallersOfAKernelAndFits80Columns) {
  KernelVerdict both = verdict_in_two_layers("dequantize_matmul_add_0123abcd", 0.5, 0.5);
  both.groups.push_back({"decode", {"model.layers.0.mlp"}, 9, 1, 1, 0.5});
  const KernelVerdict one = verdict_in_two_layers("rms_norm_01234567", 0.5, 0.5);
  const TableLayout table = verdict_table({one.kernel, both.kernel}, 80, false);
  const std::string rows = verdict_header(table) + "\n" + verdict_row(table, both, "mismatch") +
                           "\n" + verdict_row(table, one, "pass");
  EXPECT_EQ(rows,
            "kernel             in       calls     error     bound  verdict     time\n"
            "    shapes; layers\n"
            "dequantize_matmul_add_0123abcd\n"
            "                   both         2  5.00e-01  2.50e-01  mismatch  0.00 s\n"
            "    [1, 4]; layers.{0,1}.mlp\n"
            "rms_norm_01234567  prefill      2  5.00e-01  2.50e-01  pass      0.00 s\n"
            "    [1, 4]; layers.{0,1}.mlp");
  EXPECT_EQ(used_in(std::set<std::string>{"decode", "draw"}), "decode+draw");
  EXPECT_EQ(used_in(std::set<std::string>()), "");
}

}  // namespace
}  // namespace tapml::topdown
