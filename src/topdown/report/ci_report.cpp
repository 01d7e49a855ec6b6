#include "topdown/report/ci_report.h"

#include <algorithm>

#include "base/strings.h"
#include "topdown/report/html.h"
#include "topdown/report/layer_table.h"
#include "topdown/report/localize_report.h"
#include "topdown/report/pass_report.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/suite/coverage.h"

namespace tapml::topdown {

namespace {

CiCase kernel_case(const KernelVerdict& verdict, const std::string& outcome, bool passed) {
  CiCase one;
  one.name = verdict.group ? test_name(verdict) + ": " + verdict.kernel : verdict.kernel;
  one.layers = layers_summary(verdict.origin);
  one.used_in = used_in(verdict);
  one.result = !passed            ? CiCase::Result::kFailed
               : verdict.proven() ? CiCase::Result::kPassed
                                  : CiCase::Result::kSkipped;
  one.outcome = outcome;
  const bool masked = verdict.worst.target.mask_mismatches > 0;
  one.error = masked ? "NaN or infinite" : number(verdict.worst.target.max_abs);
  one.bound = number(verdict.worst.allowed);
  for (const std::string& text :
       {group_values_text(verdict), tolerance_text(verdict), allowed_text(verdict),
        open_text(verdict), source_text(verdict)}) {
    if (!text.empty()) one.remarks += (one.remarks.empty() ? "" : "; ") + text;
  }
  one.seconds = verdict.seconds;
  if (passed) return one;
  if (!verdict.passed && verdict.failed == Failure::kNone) {
    one.details = verdict.worst_output + " of call " + std::to_string(verdict.worst_sequence) +
                  ": error " + one.error + ", bound " + one.bound + ", " +
                  number(verdict.worst.target.max_ulp) + " ULP\n";
  }
  for (const std::string& text :
       {group_values_text(verdict), verdict.failure, verdict.note, source_text(verdict)}) {
    if (!text.empty()) one.details += text + "\n";
  }
  return one;
}

CiCase culprit_case(const Culprit& culprit) {
  CiCase one = kernel_case(culprit.verdict, found_text(culprit), false);
  one.name = culprit.kernel;
  one.details += culprit_text(culprit, false) + "\n";
  return one;
}

CiCase skipped_case(const std::string& name, const std::string& outcome) {
  CiCase one;
  one.name = name;
  one.result = CiCase::Result::kSkipped;
  one.outcome = outcome;
  return one;
}

CiCase model_case(const std::string& name, const ModelCheck& check, bool passed) {
  CiCase one;
  one.name = name;
  one.layers = "all";
  one.result = passed ? CiCase::Result::kPassed : CiCase::Result::kFailed;
  one.outcome = passed ? "pass" : check.failure.empty() ? "mismatch" : "fails";
  one.error = number(check.max_abs);
  one.bound = number(check.bound);
  if (!passed) {
    one.details = (check.failure.empty() ? whole_model_text(check) : check.failure) + "\n";
  }
  return one;
}

CiCase layer_case(const LayerStep& layer) {
  CiCase one = skipped_case("layer " + layer.layer, layer_outcome(layer));
  one.layers = layer.layer;
  if (!layer.tried) return one;
  one.result = layer.left.empty() ? CiCase::Result::kPassed : CiCase::Result::kFailed;
  if (layer.hybrid.positions > 0) {
    one.error = number(layer.hybrid.max_abs);
    one.bound = number(layer.hybrid.bound);
    one.details = whole_model_text(layer.hybrid) + "\n";
  }
  for (const std::string& kernel : layer.left) one.details += kernel + " stays on the source\n";
  return one;
}

CiCase source_case(const SourceNaN& nan) {
  CiCase one;
  one.name = "source's own run";
  one.layers = layers_summary(nan.origin);
  one.result = CiCase::Result::kFailed;
  one.outcome = "NaN";
  one.details = source_nan_text(nan) + "\n";
  return one;
}

CiCase error_case(const Error& error) {
  CiCase one;
  one.name = "target";
  one.result = CiCase::Result::kFailed;
  one.outcome = error.kind == ErrorKind::kPlatform ? platform_fault_name(error.fault)
                                                   : error_kind_name(error.kind);
  one.details = error.to_string() + "\n";
  return one;
}

// Adds a case for each kernel without a test, and one that fails if the run proves too little.
void add_coverage(CiReport& report, const std::vector<KernelUse>& untested,
                  const std::string& incomplete,
                  const std::vector<const KernelVerdict*>& verdicts) {
  for (const auto& [kernel, layers] : untested) {
    report.cases.push_back(skipped_case(kernel, "untested"));
    report.cases.back().layers = layers_summary(layers);
  }
  const std::string unproven = unproven_text(verdicts);
  if (untested.empty() && incomplete.empty() && unproven.empty()) return;
  CiCase one;
  one.name = "coverage";
  one.result = CiCase::Result::kFailed;
  one.outcome = "not proven";
  if (!incomplete.empty()) one.details = "the suite is incomplete: " + incomplete + "\n";
  if (!untested.empty()) one.details += untested_text(untested) + "\n";
  if (!unproven.empty()) one.details += unproven + "\n";
  report.cases.push_back(std::move(one));
}

std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (char c : text) {
    if (c == '\n') {
      cell += ' ';
    } else {
      if (std::string_view("|\\`*_<>").find(c) != std::string_view::npos) cell += '\\';
      cell += c;
    }
  }
  return cell;
}

// A block that the text cannot end: its fence is longer than any in the text.
std::string markdown_block(const std::string& text) {
  std::string fence = "```";
  while (text.find(fence) != std::string::npos) fence += '`';
  return fence + "\n" + text + (text.ends_with('\n') ? "" : "\n") + fence + "\n";
}

}  // namespace

CiReport ci_report(const std::string& title, const Replayed& replayed) {
  CiReport report;
  report.title = title;
  report.line = verdict_line(replayed);
  report.verdict = replay_verdict(replayed);
  for (const KernelVerdict& verdict : replayed.verdicts) {
    report.cases.push_back(kernel_case(verdict, verdict_outcome(verdict), verdict.passed));
  }
  add_coverage(report, replayed.untested, replayed.incomplete, verdicts_of(replayed));
  return report;
}

CiReport ci_report(const std::string& title, const Migration& migration) {
  CiReport report;
  report.title = title;
  report.line = verdict_line(migration);
  report.verdict = migration_verdict(migration);
  if (migration.source_nan) report.cases.push_back(source_case(*migration.source_nan));
  if (migration.error) report.cases.push_back(error_case(*migration.error));
  for (const MigrationStep& step : migration.steps) {
    CiCase one = kernel_case(step.verdict, outcome_of(step), step.migrated);
    if (step.verdict.passed && !step.migrated) {
      one.details += step.hybrid.failure.empty() ? whole_model_text(step.hybrid) + "\n"
                                                 : step.hybrid.failure + "\n";
      if (step.repeated.flaky()) one.details += flaky_text(step.repeated) + "\n";
    }
    report.cases.push_back(std::move(one));
  }
  for (const std::string& name : migration.untried) {
    report.cases.push_back(skipped_case(name, "not tried"));
  }
  add_coverage(report, migration.untested, "", verdicts_of(migration));
  for (const LayerStep& layer : migration.layers) report.cases.push_back(layer_case(layer));
  if (migration.target_ran) {
    CiCase one = model_case("whole model", migration.whole, migration.whole_passed());
    if (!migration.whole_passed() && migration.whole.passed) {
      one.outcome = "mismatch";
      one.details +=
          "another text from token " + std::to_string(migration.first_divergence) + " on\n";
    }
    report.cases.push_back(std::move(one));
  }
  return report;
}

std::vector<CiReport> ci_reports(const std::string& title, const Migrations& migrations) {
  std::vector<CiReport> reports;
  for (const Migration& migration : migrations.targets) {
    reports.push_back(ci_report(title + " to " + migration.target, migration));
  }
  return reports;
}

CiReport ci_report(const std::string& title, const Localization& localization) {
  CiReport report;
  report.title = title;
  report.line = verdict_line(localization);
  report.verdict = localization_text(localization) + ".";
  if (localization.source_nan) report.cases.push_back(source_case(*localization.source_nan));
  const auto culprit_of = [&](const std::string& kernel) -> const Culprit* {
    const auto found = std::ranges::find(localization.culprits, kernel, &Culprit::kernel);
    return found == localization.culprits.end() ? nullptr : &*found;
  };
  for (const KernelVerdict& verdict : localization.verdicts) {
    const Culprit* culprit = culprit_of(verdict.kernel);
    report.cases.push_back(culprit ? culprit_case(*culprit)
                                   : kernel_case(verdict, verdict_outcome(verdict), true));
  }
  // Bisection also accuses kernels that are not in the suite.
  for (const Culprit& culprit : localization.culprits) {
    if (std::ranges::find(localization.verdicts, culprit.kernel, &KernelVerdict::kernel) ==
        localization.verdicts.end()) {
      report.cases.push_back(culprit_case(culprit));
    }
  }
  std::vector<KernelUse> untested = localization.untested;
  std::erase_if(untested, [&](const KernelUse& use) { return culprit_of(use.kernel); });
  add_coverage(report, untested, localization.incomplete, verdicts_of(localization));
  if (localization.target_ran) {
    report.cases.push_back(
        model_case("whole model", localization.whole, localization.whole.passed));
  }
  return report;
}

CiReport ci_report(const std::string& title, const PassBisection& bisection) {
  CiReport report;
  report.title = title;
  report.line = verdict_line(bisection);
  report.verdict = pass_verdict(bisection) + ".";
  for (const PassFinding& finding : pass_findings(bisection)) {
    CiCase one;
    one.name = finding.name;
    one.result = CiCase::Result::kFailed;
    one.outcome = "makes the model wrong";
    one.details = finding.text + "\n";
    report.cases.push_back(std::move(one));
  }
  report.cases.push_back(model_case("whole model", bisection.whole, bisection.whole.passed));
  return report;
}

CiReport ci_report(const std::string& title, const ImportCheck& import) {
  CiReport report;
  report.title = title;
  report.line = verdict_line(import);
  report.verdict = "The import " + import_text(import) + ".";
  CiCase one;
  one.name = "import";
  if (!import.passed()) {
    one.result = CiCase::Result::kFailed;
    one.outcome = "differs";
    for (const std::string& text : difference_texts(import)) one.details += text + "\n";
  }
  report.cases.push_back(std::move(one));
  return report;
}

namespace {

// The counts of one suite, or of all.
struct CaseCounts {
  size_t tests = 0, failures = 0, skipped = 0;
  double time = 0;
  CaseCounts& operator+=(const CaseCounts& other) {
    tests += other.tests;
    failures += other.failures;
    skipped += other.skipped;
    time += other.time;
    return *this;
  }
  std::string text() const {
    char took[64];
    std::snprintf(took, sizeof took, "%.3f", time);
    return "tests=\"" + std::to_string(tests) + "\" failures=\"" + std::to_string(failures) +
           "\" errors=\"0\" skipped=\"" + std::to_string(skipped) + "\" time=\"" + took + "\"";
  }
};

// Adds its counts to `all`.
std::string junit_suite(const CiReport& report, CaseCounts& all) {
  CaseCounts counts{.tests = report.cases.size()};
  std::string cases;
  for (const CiCase& one : report.cases) {
    counts.time += one.seconds;
    char text[64];
    std::snprintf(text, sizeof text, "%.3f", one.seconds);
    cases += "    <testcase classname=\"" + escaped(report.title) + "\" name=\"" +
             escaped(one.name) + "\" time=\"" + text + "\"";
    if (one.result == CiCase::Result::kSkipped) {
      ++counts.skipped;
      cases += "><skipped message=\"" + escaped(one.outcome) + "\"/></testcase>\n";
    } else if (one.result == CiCase::Result::kFailed) {
      ++counts.failures;
      cases += ">\n      <failure type=\"" + escaped(one.outcome) + "\" message=\"" +
               escaped(one.outcome + (one.layers.empty() ? "" : ", layers " + one.layers)) + "\">" +
               escaped(one.details) + "</failure>\n    </testcase>\n";
    } else if (!one.remarks.empty()) {
      cases += "><system-out>" + escaped(one.remarks) + "</system-out></testcase>\n";
    } else {
      cases += "/>\n";
    }
  }
  all += counts;
  const auto property = [](const char* name, const std::string& value) {
    return std::string("      <property name=\"") + name + "\" value=\"" + escaped(value) +
           "\"/>\n";
  };
  return "  <testsuite name=\"" + escaped(report.title) + "\" " + counts.text() +
         ">\n    <properties>\n" + property("verdict", verdict_word(report.line.verdict)) +
         property("counts", report.line.text()) + "    </properties>\n" + cases +
         "  </testsuite>\n";
}

}  // namespace

std::string junit_xml(const std::vector<CiReport>& reports) {
  CaseCounts all;
  std::string suites;
  for (const CiReport& report : reports) suites += junit_suite(report, all);
  return "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites " + all.text() + ">\n" + suites +
         "</testsuites>\n";
}

std::string markdown_summary(const std::vector<CiReport>& reports) {
  return join(reports, [](const CiReport& report) { return markdown_summary(report); }, "\n");
}

std::string markdown_summary(const CiReport& report) {
  std::string text = "## " + markdown_cell(report.title) + "\n\n**" + report.line.text() +
                     "**: " + markdown_cell(report.verdict) + "\n";
  const std::string head =
      "\n| | in | layers | error | bound | outcome |\n| --- | --- | --- | --- | --- | --- |\n";
  auto row = [](const CiCase& one) {
    return "| " + markdown_cell(one.name) + " | " + markdown_cell(one.used_in) + " | " +
           markdown_cell(one.layers) + " | " + one.error + " | " + one.bound + " | " +
           markdown_cell(one.outcome) +
           (one.remarks.empty() ? "" : "; " + markdown_cell(one.remarks)) + " |\n";
  };
  std::string failed, rest;
  for (const CiCase& one : report.cases) {
    if (one.result != CiCase::Result::kFailed) {
      rest += row(one);
      continue;
    }
    failed += "\n### " + markdown_cell(one.name) + ": " + markdown_cell(one.outcome) +
              (one.layers.empty() ? "" : "\n\nLayers: " + markdown_cell(one.layers)) + "\n\n" +
              markdown_block(one.details);
  }
  text += failed;
  if (!rest.empty()) {
    text += "\n<details><summary>the others</summary>\n" + head + rest + "\n</details>\n";
  }
  return text;
}

}  // namespace tapml::topdown
