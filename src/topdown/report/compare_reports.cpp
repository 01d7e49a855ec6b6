#include "topdown/report/compare_reports.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <map>
#include <utility>

#include "base/strings.h"
#include "io/host/files.h"
#include "topdown/report/report.h"
#include "topdown/results/json_archive.h"
#include "topdown/results/result_json.h"

namespace tapml::topdown {

namespace {

Verdict verdict_of(const KernelVerdict& verdict) {
  if (!verdict.passed) return Verdict::kFail;
  return verdict.proven() ? Verdict::kPass : Verdict::kNotProven;
}

ReportedKernel reported(const KernelVerdict& verdict, const std::string& target) {
  ReportedKernel kernel{
      .name = verdict.group ? test_name(verdict) + ": " + verdict.kernel : verdict.kernel,
      .target = target,
      .verdict = verdict_of(verdict),
      .outcome = verdict_outcome(verdict),
      .ratio = {},
      .functions = {},
      .layers = verdict.origin.layers};
  if (was_compared(verdict)) kernel.ratio = verdict.worst.target.max_ratio;
  for (const CallGroup& group : verdict.groups) kernel.functions.insert(group.function);
  return kernel;
}

ReportedKernel untested(const KernelUse& use, const std::string& target) {
  return {.name = use.kernel,
          .target = target,
          .verdict = Verdict::kNotProven,
          .outcome = "untested",
          .ratio = {},
          .functions = {},
          .layers = use.origin.layers};
}

void add(const Migration& migration, std::vector<ReportedKernel>& kernels) {
  for (const MigrationStep& step : migration.steps) {
    ReportedKernel& kernel = kernels.emplace_back(reported(step.verdict, migration.target));
    kernel.outcome = outcome_of(step);
    if (!step.migrated) kernel.verdict = Verdict::kFail;
  }
  for (const std::string& name : migration.untried) {
    kernels.push_back(untested({.kernel = name, .origin = {}}, migration.target));
    kernels.back().outcome = "not tried";
  }
  for (const KernelUse& use : migration.untested) {
    kernels.push_back(untested(use, migration.target));
  }
}

Status read_kernels(const JsonObjectReader& json, ReportFile& report) {
  report.command = "migrate";
  if (json.has("targets")) {
    TAPML_ASSIGN(const auto* targets, json.required_array("targets"));
    for (const Json& item : *targets) {
      TAPML_ASSIGN(const Migration migration,
                   read_migration(JsonObjectReader(item, json.source(), "targets")));
      add(migration, report.kernels);
    }
    return {};
  }
  if (json.has("source_device")) {
    TAPML_ASSIGN(const Migration migration, read_migration(json));
    add(migration, report.kernels);
    return {};
  }
  if (!json.has("kernels") || !json.has("target") || json.has("source")) {
    return fail(user_error("not a report of tapml migrate or tapml replay", json.source(),
                           "the report.json of their --report, or the output of their --json",
                           "a JSON document of something else"));
  }
  report.command = "replay";
  TAPML_ASSIGN(const Replayed replayed, read_replayed(json));
  for (const KernelVerdict& verdict : replayed.verdicts) {
    report.kernels.push_back(reported(verdict, replayed.target));
  }
  for (const KernelUse& use : replayed.untested) {
    report.kernels.push_back(untested(use, replayed.target));
  }
  return {};
}

// The name without the hash of the specification.
std::string operators_of(const ReportedKernel& kernel) {
  return kernel.name.substr(0, kernel.name.rfind('_'));
}

// Whether both stand for the same part of the model, though their specifications differ.
bool same_part(const ReportedKernel& a, const ReportedKernel& b) {
  return a.target == b.target && operators_of(a) == operators_of(b) && a.layers == b.layers &&
         (a.functions == b.functions || a.functions.empty() || b.functions.empty());
}

KernelChange change_of(const ReportedKernel& before, const ReportedKernel& after) {
  const auto rank = [](Verdict verdict) {
    return verdict == Verdict::kPass ? 0 : verdict == Verdict::kNotProven ? 1 : 2;
  };
  const int was = rank(before.verdict), is = rank(after.verdict);
  return is > was ? KernelChange::kWorse : is < was ? KernelChange::kBetter : KernelChange::kSame;
}

}  // namespace

Result<ReportFile> read_report(const std::string& path) {
  ReportFile report;
  report.path = path;
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) report.path += "/report.json";
  TAPML_ASSIGN(const std::string text, read_text_file(report.path));
  TAPML_ASSIGN(const Json document, parse_json(text, report.path));
  const JsonObjectReader json(document, report.path);
  TAPML_TRY(json.check_object());
  TAPML_TRY(read_kernels(json, report));
  TAPML_ASSIGN(const std::string word, json.required_string("verdict"));
  const std::array verdicts = {Verdict::kPass, Verdict::kFail, Verdict::kNotProven};
  const auto* const known = std::ranges::find(
      verdicts, word, [](Verdict verdict) { return std::string(verdict_word(verdict)); });
  if (known == verdicts.end()) {
    return fail(json.field_error("verdict", "is not a verdict", "PASS, FAIL or NOT PROVEN"));
  }
  report.verdict = *known;
  if (json.has("run")) {
    TAPML_ASSIGN(const JsonObjectReader run, json.required_object("run"));
    TAPML_ASSIGN(report.run, read_run(run));
  }
  return report;
}

const char* change_name(KernelChange change) {
  switch (change) {
    case KernelChange::kSame:
      return "same";
    case KernelChange::kBetter:
      return "better";
    case KernelChange::kWorse:
      return "worse";
    case KernelChange::kNew:
      return "new";
    case KernelChange::kGone:
      return "gone";
  }
  return "same";
}

bool ComparedKernel::notable() const {
  if (change != KernelChange::kSame || !before || !after) return true;
  if (before->outcome != after->outcome || before->ratio.has_value() != after->ratio.has_value()) {
    return true;
  }
  if (!before->ratio) return false;
  const double low = std::min(*before->ratio, *after->ratio);
  const double high = std::max(*before->ratio, *after->ratio);
  constexpr double kSmall = 0.1;
  return high > kSmall && high != low && !(high < 2 * low);
}

bool ComparedReports::passed() const {
  const auto worse = [](const ComparedKernel& kernel) {
    return kernel.change == KernelChange::kWorse;
  };
  return std::ranges::none_of(kernels, worse) &&
         !(before.verdict == Verdict::kPass && after.verdict != Verdict::kPass) &&
         !(before.verdict == Verdict::kNotProven && after.verdict == Verdict::kFail);
}

Result<ComparedReports> compare_reports(ReportFile before, ReportFile after) {
  if (before.command != after.command) {
    return fail(user_error("the reports are of different commands", after.path,
                           "a report of tapml " + before.command, "one of tapml " + after.command));
  }
  ComparedReports compared;
  std::vector<const ReportedKernel*> matches(after.kernels.size(), nullptr);
  std::vector<bool> taken(before.kernels.size(), false);
  const auto match = [&](size_t of_after, size_t of_before) {
    matches[of_after] = &before.kernels[of_before];
    taken[of_before] = true;
  };
  std::map<std::pair<std::string, std::string>, size_t> names;
  for (size_t k = 0; k < before.kernels.size(); ++k) {
    names.emplace(std::pair(before.kernels[k].target, before.kernels[k].name), k);
  }
  for (size_t i = 0; i < after.kernels.size(); ++i) {
    const auto found = names.find({after.kernels[i].target, after.kernels[i].name});
    if (found != names.end()) match(i, found->second);
  }
  // The rest by the part of the model, if one of each report stands for it.
  std::vector<std::pair<size_t, size_t>> pairs;
  for (size_t i = 0; i < after.kernels.size(); ++i) {
    for (size_t k = 0; !matches[i] && k < before.kernels.size(); ++k) {
      if (!taken[k] && same_part(before.kernels[k], after.kernels[i])) pairs.emplace_back(i, k);
    }
  }
  for (const auto& [i, k] : pairs) {
    if (std::ranges::count(pairs, i, &std::pair<size_t, size_t>::first) == 1 &&
        std::ranges::count(pairs, k, &std::pair<size_t, size_t>::second) == 1) {
      match(i, k);
    }
  }
  if (!before.kernels.empty() && !after.kernels.empty() &&
      std::ranges::none_of(matches, [](const auto* one) { return one != nullptr; })) {
    return fail(user_error("the reports have no kernel in common", after.path,
                           "a report of the same model and target as " + before.path,
                           "kernels on " + after.kernels.front().target + ", and on " +
                               before.kernels.front().target + " before"));
  }
  for (size_t i = 0; i < after.kernels.size(); ++i) {
    ComparedKernel& kernel = compared.kernels.emplace_back();
    kernel.after = after.kernels[i];
    if (matches[i]) {
      kernel.before = *matches[i];
      kernel.change = change_of(*matches[i], after.kernels[i]);
    } else {
      kernel.change =
          after.kernels[i].verdict == Verdict::kFail ? KernelChange::kWorse : KernelChange::kNew;
    }
  }
  for (size_t k = 0; k < before.kernels.size(); ++k) {
    if (taken[k]) continue;
    ComparedKernel& kernel = compared.kernels.emplace_back();
    kernel.before = before.kernels[k];
    kernel.change = KernelChange::kGone;
  }
  compared.before = std::move(before);
  compared.after = std::move(after);
  return compared;
}

VerdictLine verdict_line(const ComparedReports& compared) {
  std::map<KernelChange, int64_t> counts;
  for (const ComparedKernel& kernel : compared.kernels) ++counts[kernel.change];
  VerdictLine line;
  line.verdict = compared.passed() ? Verdict::kPass : Verdict::kFail;
  line.counts.push_back(
      share_of(counts[KernelChange::kWorse], std::ssize(compared.after.kernels), "kernel") +
      " worse");
  for (const KernelChange change :
       {KernelChange::kBetter, KernelChange::kNew, KernelChange::kGone}) {
    if (counts[change] > 0) {
      line.counts.push_back(std::to_string(counts[change]) + " " + change_name(change));
    }
  }
  if (!compared.passed() && counts[KernelChange::kWorse] == 0) {
    line.counts.push_back(std::string("the whole was ") + verdict_word(compared.before.verdict) +
                          " and is " + verdict_word(compared.after.verdict));
  }
  return line;
}

std::vector<std::string> different_facts(const ComparedReports& compared) {
  const RunFacts &a = compared.before.run, &b = compared.after.run;
  std::vector<std::string> lines;
  const auto fact = [&](const char* name, const std::string& was, const std::string& is) {
    if (was != is && !was.empty() && !is.empty()) {
      lines.push_back(std::string(name) + ": " + was + ", then " + is);
    }
  };
  const auto targets = [](const ReportFile& report) {
    std::set<std::string> names;
    for (const ReportedKernel& kernel : report.kernels) names.insert(kernel.target);
    return join(names);
  };
  fact("target", targets(compared.before), targets(compared.after));
  fact("tapml", a.version, b.version);
  fact("model", a.model, b.model);
  if (a.hashed == b.hashed) fact(b.hashed.c_str(), a.hash, b.hash);
  fact("processor", a.machine.processor, b.machine.processor);
  fact("system", a.machine.system, b.machine.system);
  return lines;
}

Json compared_reports_json(const ComparedReports& compared) {
  const auto side = [](const std::optional<ReportedKernel>& kernel) {
    if (!kernel) return Json::null();
    return Json::object(
        {{"kernel", Json::string(kernel->name)},
         {"target", Json::string(kernel->target)},
         {"verdict", Json::string(verdict_word(kernel->verdict))},
         {"outcome", Json::string(kernel->outcome)},
         {"error_over_bound", kernel->ratio ? real(*kernel->ratio) : Json::null()}});
  };
  const auto file = [](const ReportFile& report) {
    return Json::object({{"path", Json::string(report.path)},
                         {"date", Json::string(report.run.date)},
                         {"tapml", Json::string(report.run.version)},
                         {"model", Json::string(report.run.model)},
                         {"verdict", Json::string(verdict_word(report.verdict))}});
  };
  std::vector<Json> kernels;
  for (const ComparedKernel& kernel : compared.kernels) {
    kernels.push_back(Json::object({{"change", Json::string(change_name(kernel.change))},
                                    {"before", side(kernel.before)},
                                    {"after", side(kernel.after)}}));
  }
  return Json::object({{"passed", Json::boolean(compared.passed())},
                       {"verdict", Json::string(verdict_word(verdict_line(compared).verdict))},
                       {"before", file(compared.before)},
                       {"after", file(compared.after)},
                       {"kernels", Json::array(std::move(kernels))}});
}

}  // namespace tapml::topdown
