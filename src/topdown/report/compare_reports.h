// Compares two reports of a migration or a replay: what was right before and is not now.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "io/json.h"
#include "topdown/results/run_facts.h"
#include "topdown/results/verdict_line.h"

namespace tapml::topdown {

// A kernel in a report.
struct ReportedKernel {
  std::string name;    // of the kernel; with its group in front if it was tested as part of one
  std::string target;  // that it was tested on
  Verdict verdict = Verdict::kNotProven;
  std::string outcome;          // "migrated", "mismatch", "untested"
  std::optional<double> ratio;  // the largest error over its bound; nothing if none was compared
  // What finds it in another report if its specification has changed, and so its name.
  std::set<std::string> functions, layers;
};

struct ReportFile {
  std::string path;
  std::string command;  // "migrate" or "replay"
  RunFacts run;
  Verdict verdict = Verdict::kNotProven;  // of the whole
  std::vector<ReportedKernel> kernels;    // of all targets
};

// Reads report.json of `migrate` or `replay`, or what their --json printed; `path` may be its
// folder. UserError for anything else.
Result<ReportFile> read_report(const std::string& path);

// A new kernel that is wrong is worse.
enum class KernelChange : uint8_t { kSame, kBetter, kWorse, kNew, kGone };
const char* change_name(KernelChange change);  // "same", ...

struct ComparedKernel {
  KernelChange change = KernelChange::kSame;
  std::optional<ReportedKernel> before, after;  // at least one

  // Whether a reader wants to see it: any change, or an error that at least doubled or halved and
  // is more than a tenth of its bound before or after.
  bool notable() const;
};

struct ComparedReports {
  ReportFile before, after;
  std::vector<ComparedKernel> kernels;  // in the order of the later report, then those gone

  // Whether no kernel is worse, and the later run as a whole is not.
  bool passed() const;
};

// UserError for reports of different commands, and for reports with no kernel in common.
Result<ComparedReports> compare_reports(ReportFile before, ReportFile after);
// "PASS 0 of 28 kernels worse, 1 better".
VerdictLine verdict_line(const ComparedReports& compared);
// Lines with the facts (target, model, versions, processor) in which the two differ.
std::vector<std::string> different_facts(const ComparedReports& compared);
Json compared_reports_json(const ComparedReports& compared);

}  // namespace tapml::topdown
