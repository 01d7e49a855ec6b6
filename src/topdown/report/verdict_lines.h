// The last line of each command that validates (docs/cli.md, "Verdicts").
#pragma once

#include "topdown/reference_run/import_check.h"
#include "topdown/report/report.h"
#include "topdown/results/evaluation.h"
#include "topdown/results/localization.h"
#include "topdown/results/migration.h"
#include "topdown/results/pass_bisection.h"
#include "topdown/results/verdict_line.h"
#include "topdown/suite/verify_suite.h"

namespace tapml::topdown {

VerdictLine verdict_line(const Replayed& replayed);
VerdictLine verdict_line(const Migration& migration);
VerdictLine verdict_line(const Migrations& migrations);
VerdictLine verdict_line(const Localization& localization);
VerdictLine verdict_line(const PassBisection& bisection);
// Of a command that compares the import first, and tests nothing else if it differs.
VerdictLine verdict_line(const ImportCheck& import);
// Of the command that only compares the import.
VerdictLine import_verdict_line(const ImportCheck& import);
VerdictLine verdict_line(const SuiteCheck& check);
// For comparisons of targets with the reference, one each; `scored` are the tasks of each.
VerdictLine verdict_line(const std::vector<EvalComparison>& comparisons, const EvalTotal& scored);
// For `checks` checks of `devices` devices.
VerdictLine device_verdict_line(int64_t passed, int64_t checks, int64_t devices);

}  // namespace tapml::topdown
