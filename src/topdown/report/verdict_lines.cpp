#include "topdown/report/verdict_lines.h"

#include <algorithm>
#include <map>

namespace tapml::topdown {

namespace {

constexpr const char* kUnproven = "not proven";

// Counts of kernels for the verdict line, beside those that are right.
class Tally {
 public:
  void add(const KernelVerdict& verdict) {
    calls_ += verdict.calls;
    const ElementCount total = verdict.total();
    if (total.compared < total.elements) {
      ++sampled_;
      compared_ += total.compared;
      elements_ += total.elements;
    }
    if (total.open > 0) {
      ++with_open_;
      open_ += total.open;
    }
    unproven_ += verdict.passed && !verdict.proven();
    against_source_ += verdict.against_source;
    tolerated_ += verdict.tolerated;
    if (verdict.passed && !verdict.allowances.empty()) ++allowed_[verdict.allowances];
    source_wrong_ += verdict.source_wrong;
  }

  int64_t calls() const { return calls_; }
  int64_t unproven() const { return unproven_; }  // kernels with an output that has no bound
  // What weakens the verdict: sampled outputs, comparison with the source only, widened bounds, ...
  std::vector<std::string> limits() const {
    std::vector<std::string> limits;
    if (sampled_ > 0) {
      limits.push_back(std::to_string(compared_) + " of " + std::to_string(elements_) +
                       " elements of " + count_of(sampled_, "kernel") + " compared");
    }
    if (open_ > 0) {
      limits.push_back(count_of(open_, "element") + " of " + count_of(with_open_, "kernel") +
                       " without a bound");
    }
    if (against_source_ > 0) {
      limits.push_back(std::to_string(against_source_) + " compared with the source only");
    }
    if (tolerated_ > 0) limits.push_back(std::to_string(tolerated_) + " within a widened bound");
    for (const auto& [allowances, count] : allowed_) {
      limits.push_back(std::to_string(count) + " with " + allowances + " allowed");
    }
    if (source_wrong_ > 0) limits.push_back(std::to_string(source_wrong_) + " source wrong");
    return limits;
  }

 private:
  int64_t calls_ = 0, sampled_ = 0, compared_ = 0, elements_ = 0;
  int64_t open_ = 0, with_open_ = 0, unproven_ = 0;
  int64_t against_source_ = 0, tolerated_ = 0, source_wrong_ = 0;
  std::map<std::string, int64_t> allowed_;  // number of kernels by what they need
};

// Adds a count to the line, unless it is zero.
void note(VerdictLine& line, int64_t number, const std::string& what) {
  if (number > 0) line.counts.push_back(std::to_string(number) + " " + what);
}

void note(VerdictLine& line, bool whether, const std::string& what) {
  if (whether) line.counts.push_back(what);
}

void note_limits(VerdictLine& line, const Tally& tally) {
  for (std::string& limit : tally.limits()) line.counts.push_back(std::move(limit));
}

// Number of kernels of a migration, with any outcome.
int64_t kernels_of(const Migration& migration) {
  return std::ssize(migration.steps) + std::ssize(migration.untried) +
         std::ssize(migration.untested);
}

int64_t migrated_of(const Migration& migration) {
  return std::ranges::count_if(migration.steps, [](const MigrationStep& step) {
    return step.migrated && step.verdict.proven();
  });
}

}  // namespace

VerdictLine verdict_line(const Replayed& replayed) {
  int64_t kernels = 0, groups = 0, right = 0, right_groups = 0, wrong = 0;
  Tally tally;
  for (const KernelVerdict& verdict : replayed.verdicts) {
    (verdict.group ? groups : kernels) += 1;
    wrong += !verdict.passed;
    (verdict.group ? right_groups : right) += verdict.proven();
    tally.add(verdict);
  }
  const auto untested = std::ssize(replayed.untested);
  VerdictLine line{replayed.verdict(), {}};
  const bool groups_alone = groups > 0 && kernels + untested == 0;
  if (!groups_alone) line.counts.push_back(share_of(right, kernels + untested, "kernel"));
  if (groups > 0) line.counts.push_back(share_of(right_groups, groups, "group"));
  line.counts.push_back(count_of(tally.calls(), "call"));
  note(line, wrong, "wrong");
  note(line, untested, "untested");
  note(line, tally.unproven(), kUnproven);
  note(line, !replayed.incomplete.empty(), "the suite incomplete");
  note_limits(line, tally);
  return line;
}

VerdictLine verdict_line(const Migration& migration) {
  Tally tally;
  for (const MigrationStep& step : migration.steps) tally.add(step.verdict);
  VerdictLine line{migration.verdict(),
                   {share_of(migrated_of(migration), kernels_of(migration), "kernel"),
                    count_of(tally.calls(), "call")}};
  note(line, std::ssize(migration.culprits()), "wrong");
  note(line, std::ssize(migration.untried), "not tried");
  note(line, std::ssize(migration.untested), "untested");
  note(line, tally.unproven(), kUnproven);
  note(line, migration.target_ran && !migration.whole_passed(), "the whole model wrong");
  note(line, migration.source_nan.has_value(), "NaN in the source's run");
  note(line, migration.error.has_value(), "ended by an error");
  note_limits(line, tally);
  return line;
}

VerdictLine verdict_line(const Migrations& migrations) {
  int64_t right = 0, kernels = 0, wrong = 0, untried = 0, untested = 0, passed = 0, ended = 0;
  Tally tally;
  for (const Migration& one : migrations.targets) {
    for (const MigrationStep& step : one.steps) tally.add(step.verdict);
    right += migrated_of(one);
    kernels += kernels_of(one);
    wrong += std::ssize(one.culprits());
    untried += std::ssize(one.untried);
    untested += std::ssize(one.untested);
    passed += one.passed();
    ended += one.error.has_value();
  }
  VerdictLine line{migrations.verdict(),
                   {share_of(passed, std::ssize(migrations.targets), "target"),
                    share_of(right, kernels, "kernel"), count_of(tally.calls(), "call")}};
  note(line, wrong, "wrong");
  note(line, untried, "not tried");
  note(line, untested, "untested");
  note(line, tally.unproven(), kUnproven);
  note(line, ended, ended == 1 ? "target ended by an error" : "targets ended by an error");
  note_limits(line, tally);
  return line;
}

VerdictLine verdict_line(const Localization& localization) {
  Tally tally;
  for (const KernelVerdict& verdict : localization.verdicts) tally.add(verdict);
  const auto is_culprit = [&](const std::string& kernel) {
    return std::ranges::find(localization.culprits, kernel, &Culprit::kernel) !=
           localization.culprits.end();
  };
  const auto right =
      std::ranges::count_if(localization.verdicts, [&](const KernelVerdict& verdict) {
        return verdict.proven() && !is_culprit(verdict.kernel);
      });
  const auto untested = std::ranges::count_if(
      localization.untested, [&](const KernelUse& use) { return !is_culprit(use.kernel); });
  const auto wrong = std::ssize(localization.culprits);
  VerdictLine line{localization.verdict(),
                   {share_of(right, right + wrong + untested + tally.unproven(), "kernel"),
                    count_of(tally.calls(), "call")}};
  note(line, wrong, "wrong");
  note(line, untested, "untested");
  note(line, tally.unproven(), kUnproven);
  note(line, localization.target_ran && !localization.whole.passed, "the whole model wrong");
  note(line, localization.source_nan.has_value(), "NaN in the source's run");
  note(line, !localization.incomplete.empty(), "the suite incomplete");
  note_limits(line, tally);
  return line;
}

VerdictLine verdict_line(const ImportCheck& import) {
  VerdictLine line = import_verdict_line(import);
  if (!import.passed()) line.counts.emplace_back("nothing else was tested");
  return line;
}

VerdictLine import_verdict_line(const ImportCheck& import) {
  if (!import.passed()) {
    return {Verdict::kFail, {"the import differs first in " + import.first->module}};
  }
  return {Verdict::kPass,
          {"the import agrees", import.compared + " of " + count_of(import.tokens, "token"),
           count_of(import.values, "hidden state")}};
}

VerdictLine verdict_line(const PassBisection& bisection) {
  VerdictLine line{bisection.verdict(), {compared_text(bisection.whole)}};
  if (bisection.found()) {
    const auto culprits = std::ssize(bisection.settings) + (bisection.pass ? 1 : 0);
    line.counts.push_back(count_of(culprits, "culprit"));
  }
  line.counts.push_back(count_of(bisection.runs, "run"));
  return line;
}

VerdictLine verdict_line(const SuiteCheck& check) {
  const Suite& suite = check.suite;
  VerdictLine line{
      !check.faults.empty()       ? Verdict::kFail
      : !suite.incomplete.empty() ? Verdict::kNotProven
                                  : Verdict::kPass,
      {count_of(std::ssize(suite.kernels), "kernel"), count_of(std::ssize(suite.calls), "call")}};
  if (!suite.groups.empty()) line.counts.push_back(count_of(std::ssize(suite.groups), "group"));
  line.counts.push_back(count_of(check.tensors, "tensor"));
  if (!check.faults.empty()) line.counts.push_back(count_of(std::ssize(check.faults), "fault"));
  note(line, std::ssize(suite.untested), "untested");
  note(line, !suite.incomplete.empty(), "the suite incomplete");
  return line;
}

VerdictLine verdict_line(const std::vector<EvalComparison>& comparisons, const EvalTotal& scored) {
  const auto passed = std::ranges::count(comparisons, true, &EvalComparison::passed);
  return {passed == std::ssize(comparisons) ? Verdict::kPass : Verdict::kFail,
          {share_of(passed, std::ssize(comparisons), "target"), count_of(scored.tasks, "task"),
           count_of(scored.tokens, "token")}};
}

VerdictLine device_verdict_line(int64_t passed, int64_t checks, int64_t devices) {
  return {passed < checks ? Verdict::kFail
          : checks == 0   ? Verdict::kNotProven
                          : Verdict::kPass,
          {share_of(passed, checks, "check"), count_of(devices, "device")}};
}

}  // namespace tapml::topdown
