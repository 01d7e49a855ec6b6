// A migration as a page.
#include <algorithm>

#include "io/host/files.h"
#include "topdown/report/page_content.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/verdict_lines.h"

namespace tapml::topdown {

KernelState state_of(const MigrationStep& step) {
  if (step.migrated) return state_of(step.verdict);
  if (step.verdict.failed != Failure::kNone || !step.hybrid.failure.empty()) {
    return KernelState::kFails;
  }
  return step.verdict.passed ? KernelState::kHybridMismatch : KernelState::kMismatch;
}

namespace {

std::string how_to_see(const Migration& migration, const MigrationStep& step,
                       const ReportTexts& texts) {
  const std::string& kernel = step.verdict.kernel;
  const auto failed = migration.failed.find(kernel);
  const CommandOptions options = with_absolute_paths(texts.options);
  if (texts.failures && failed != migration.failed.end() && failed->second.suite) {
    return replay_command(kernel + "/suite", migration.target, "",
                          options_of_reproducer(options, step.verdict, kernel + "/kernels"));
  }
  return model_command("localize", absolute_path(texts.model), migration.source, migration.target,
                       texts.prompt, options);
}

std::string end_text(const Migration& migration) {
  if (!migration.target_ran) return "not run alone: kernels are left on the source";
  if (!migration.whole.failure.empty()) return "failed";
  if (migration.whole.cosine_distance) return compared_text(migration.whole);
  if (migration.first_divergence < 0) return "identical token for token";
  return "diverges at token " + std::to_string(migration.first_divergence) +
         divergence_note(migration);
}

}  // namespace

std::string migration_html(const Migration& migration, const ReportTexts& texts) {
  PageContent content;
  content.command = "migrate";
  content.title = texts.model + ": " + migration.source + " to " + migration.target;
  content.line = verdict_line(migration);
  content.verdict = migration_verdict(migration);
  const ModelCheck* last = nullptr;
  for (const MigrationStep& step : migration.steps) {
    PageKernel kernel;
    kernel.name = step.verdict.kernel;
    kernel.state = state_of(step);
    kernel.outcome = outcome_of(step);
    kernel.verdict = &step.verdict;
    kernel.groups = step.verdict.groups;
    if (step.verdict.passed) kernel.hybrid = &step.hybrid;
    if (step.migrated) last = &step.hybrid;
    if (kernel.wrong()) {
      if (const auto it = migration.failed.find(kernel.name); it != migration.failed.end()) {
        kernel.source = &it->second.source;
      }
      kernel.reproducer = how_to_see(migration, step, texts);
      kernel.beside_page = true;
      if (step.unit != kernel.name) kernel.details.emplace_back("tried with", step.unit);
      if (step.repeated.flaky()) {
        kernel.details.emplace_back("again", flaky_text(step.repeated));
      }
    }
    if (const auto it = migration.sources.find(kernel.name); it != migration.sources.end()) {
      kernel.source = &it->second;
    }
    content.kernels.push_back(std::move(kernel));
  }
  for (size_t i = 0; i < migration.untried.size(); ++i) {
    PageKernel kernel;
    kernel.name = migration.untried[i];
    kernel.outcome = "not tried";
    if (i < migration.untried_calls.size()) kernel.groups = migration.untried_calls[i];
    content.kernels.push_back(std::move(kernel));
  }
  for (const auto& [name, layers] : migration.untested) {
    PageKernel kernel;
    kernel.name = name;
    kernel.outcome = "untested";
    kernel.layers = layers;
    content.kernels.push_back(std::move(kernel));
  }
  if (last) content.checks.push_back({"the last hybrid that is kept", *last});
  if (migration.target_ran)
    content.checks.push_back({migration.target + " alone", migration.whole});
  content.layers = migration.layers;
  content.texts = {{input_name(texts.options), texts.prompt}};
  if (!texts.options.reads_texts()) {
    content.texts.push_back({migration.source, texts.source_text});
  }
  content.texts.push_back({migration.target + " (" + end_text(migration) + ")", texts.target_text});
  for (size_t i = 0; i < migration.margins.size(); ++i) {
    content.tokens.push_back(
        {i < texts.token_texts.size() ? texts.token_texts[i] : "", migration.margins[i]});
  }
  if (migration.error) content.remarks.push_back(migration.error->to_string());
  const std::string allowed =
      target_allowances_text(migration.target, migration.allowances, verdicts_of(migration));
  if (!allowed.empty()) content.remarks.push_back(allowed);
  if (!migration.steps.empty()) content.remarks.push_back(copies_text(migration));
  if (migration.resumed > 0) {
    content.remarks.push_back(std::to_string(migration.resumed) + " of " +
                              std::to_string(migration.steps.size()) +
                              " kernels were taken over from an earlier run");
  }
  content.speed = &migration.speed;
  content.timeline = migration.timeline;
  content.seconds = migration.seconds;
  content.devices = {{"source", migration.source, migration.source_info},
                     {"target", migration.target, migration.target_info}};
  content.command_line = texts.command;
  content.run = texts.run;
  content.above = texts.above;
  return report_page(content);
}

Status write_failures(const Migration& migration, const std::string& folder) {
  for (const auto& [kernel, failed] : migration.failed) {
    if (!failed.suite) continue;
    const std::string own = folder + "/" + kernel;
    TAPML_TRY(make_folder(own));
    TAPML_TRY(save_suite(*failed.suite, own + "/suite"));
    for (const MigrationStep& step : migration.steps) {
      if (step.verdict.kernel == kernel) {
        TAPML_TRY(write_custom_source(step.verdict, failed.source, own));
      }
    }
  }
  return {};
}

}  // namespace tapml::topdown
