// A localization as a page.
#include <algorithm>

#include "base/strings.h"
#include "topdown/report/localize_report.h"
#include "topdown/report/page_content.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/verdict_lines.h"

namespace tapml::topdown {

namespace {

void accuse(PageKernel& kernel, const Culprit& culprit, const std::string& target,
            const CommandOptions& options) {
  kernel.verdict = &culprit.verdict;
  kernel.groups = culprit.verdict.groups;
  kernel.outcome = found_text(culprit);
  kernel.state = state_of(culprit.verdict);
  if (culprit.evidence != Evidence::kReplay) {
    kernel.hybrid = &culprit.hybrid;
    kernel.state =
        culprit.hybrid.failure.empty() ? KernelState::kHybridMismatch : KernelState::kFails;
  }
  kernel.source = &culprit.source;
  kernel.details.emplace_back("seen in", rate_text(culprit));
  auto detail = [&](const char* name, const std::vector<std::string>& others) {
    const std::string text = join(others);
    if (!text.empty()) kernel.details.emplace_back(name, text);
  };
  detail("only together with", culprit.together_with);
  detail("weights packed by the same launches as for", culprit.same_preparation);
  if (culprit.smallest) {
    kernel.details.emplace_back("smallest failing input", smallest_text(*culprit.smallest));
  }
  const std::string again = reproducer_command(culprit, target, options);
  if (!again.empty()) {
    kernel.reproducer = "cd " + quoted_word(culprit.kernel) + " && " + again;
    kernel.beside_page = true;
  }
}

}  // namespace

std::string localization_html(const Localization& localization, const std::string& model,
                              const std::string& prompt, const std::string& command,
                              const CommandOptions& options, const RunFacts& run) {
  PageContent content;
  content.command = "localize";
  content.title = model + ": " + localization.source + " to " + localization.target;
  content.line = verdict_line(localization);
  content.verdict = localization_text(localization) + ".";
  auto add = [&](const std::string& name, const KernelVerdict* verdict, const Origin& layers) {
    PageKernel kernel;
    kernel.name = name;
    kernel.layers = layers;
    kernel.verdict = verdict;
    if (verdict) {
      kernel.groups = verdict->groups;
      kernel.state = state_of(*verdict);
      kernel.outcome = verdict_outcome(*verdict);
    } else {
      kernel.outcome = "untested";
    }
    const auto culprit = std::ranges::find(localization.culprits, name, &Culprit::kernel);
    if (culprit != localization.culprits.end())
      accuse(kernel, *culprit, localization.target, options);
    content.kernels.push_back(std::move(kernel));
  };
  for (const KernelVerdict& verdict : localization.verdicts) {
    add(verdict.kernel, &verdict, verdict.origin);
  }
  for (const auto& [name, layers] : localization.untested) add(name, nullptr, layers);
  if (localization.rest.positions > 0 || !localization.rest.failure.empty()) {
    content.checks.push_back({localization.culprits.empty()
                                  ? "all kernels on the target"
                                  : "all kernels but the culprits on the target",
                              localization.rest});
  }
  if (localization.target_ran) {
    content.checks.push_back({localization.target + " alone", localization.whole});
  }
  content.texts = {{input_name(options), prompt}};
  content.remarks.push_back("Hybrid runs: " + std::to_string(localization.hybrid_runs));
  content.timeline = localization.timeline;
  content.seconds = localization.seconds;
  content.devices = {{"source", localization.source, localization.source_info},
                     {"target", localization.target, localization.target_info}};
  content.command_line = command;
  content.run = run;
  return report_page(content);
}

}  // namespace tapml::topdown
