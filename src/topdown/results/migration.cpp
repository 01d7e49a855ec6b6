#include "topdown/results/migration.h"

#include <algorithm>

namespace tapml::topdown {

Verdict Migration::verdict() const {
  if (source_nan || !culprits().empty() || (target_ran && !whole_passed())) return Verdict::kFail;
  const bool all = !error && target_ran && untried.empty() && untested.empty();
  const bool proven =
      std::ranges::all_of(steps, [](const MigrationStep& step) { return step.verdict.proven(); });
  return all && proven ? Verdict::kPass : Verdict::kNotProven;
}

std::vector<const MigrationStep*> Migration::culprits() const {
  std::vector<const MigrationStep*> result;
  for (const MigrationStep& step : steps) {
    if (!step.migrated) result.push_back(&step);
  }
  return result;
}

Verdict Migrations::verdict() const {
  Verdict verdict = Verdict::kPass;
  for (const Migration& one : targets) {
    const Verdict own = one.verdict();
    if (own == Verdict::kFail) return own;
    if (own == Verdict::kNotProven) verdict = own;
  }
  return verdict;
}

const Error* Migrations::error() const {
  const auto it =
      std::ranges::find_if(targets, [](const Migration& one) { return one.error.has_value(); });
  return it == targets.end() ? nullptr : &*it->error;
}

std::string outcome_of(const MigrationStep& step) {
  if (step.migrated) return step.verdict.proven() ? "migrated" : "not proven";
  if (!step.verdict.passed) return verdict_outcome(step.verdict);
  if (step.repeated.flaky()) return "flaky";
  return step.hybrid.failure.empty() ? "hybrid mismatch" : "hybrid fails";
}

std::vector<const KernelVerdict*> verdicts_of(const Migration& migration) {
  std::vector<const KernelVerdict*> verdicts;
  for (const MigrationStep& step : migration.steps) verdicts.push_back(&step.verdict);
  return verdicts;
}

}  // namespace tapml::topdown
