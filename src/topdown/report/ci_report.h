// The result of a command for continuous integration: JUnit XML, and Markdown for a summary.
#pragma once

#include <string>
#include <vector>

#include "topdown/reference_run/import_check.h"
#include "topdown/report/report.h"
#include "topdown/results/localization.h"
#include "topdown/results/migration.h"
#include "topdown/results/pass_bisection.h"

namespace tapml::topdown {

// A kernel, a pass, or the whole model.
struct CiCase {
  enum class Result : uint8_t { kPassed, kFailed, kSkipped };
  std::string name, layers;
  std::string used_in;  // used_in() of a kernel
  Result result = Result::kPassed;
  std::string outcome;  // "mismatch", "migrated", ...
  std::string error, bound;
  std::string details;  // of a failure; several lines
  std::string remarks;  // group_values_text(), tolerance_text() and source_text()
  double seconds = 0;
};

struct CiReport {
  std::string title;    // "tapml migrate models/demo: cpu to opencl"
  std::string verdict;  // one sentence
  VerdictLine line;
  std::vector<CiCase> cases;

  bool passed() const { return line.passed(); }
};

// Kernels without a test are skipped cases. For them and for an incomplete suite there is also a
// failed case "coverage", so that cases alone cannot be mistaken for proof.
CiReport ci_report(const std::string& title, const Replayed& replayed);
CiReport ci_report(const std::string& title, const Migration& migration);
// One report per target; `title` names no target.
std::vector<CiReport> ci_reports(const std::string& title, const Migrations& migrations);
CiReport ci_report(const std::string& title, const Localization& localization);
// A case for each culprit among the passes, and the whole model.
CiReport ci_report(const std::string& title, const PassBisection& bisection);
// Of an import that differs, or agrees: one case.
CiReport ci_report(const std::string& title, const ImportCheck& import);

// One test suite per report. The document is well-formed, whatever the texts contain.
std::string junit_xml(const std::vector<CiReport>& reports);
inline std::string junit_xml(const CiReport& report) { return junit_xml(std::vector{report}); }
// The verdict, the failures with their details, and a table of the rest, for each report.
std::string markdown_summary(const CiReport& report);
std::string markdown_summary(const std::vector<CiReport>& reports);

}  // namespace tapml::topdown
