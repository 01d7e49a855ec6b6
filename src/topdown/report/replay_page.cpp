// A replay as a page.
#include <algorithm>

#include "topdown/report/page_content.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/suite/coverage.h"

namespace tapml::topdown {

std::string replay_verdict(const Replayed& replayed) {
  const auto failed = std::ranges::count(replayed.verdicts, false, &KernelVerdict::passed);
  const std::string tests = tests_text(replayed.verdicts);
  if (failed == 0) {
    const std::string missing =
        not_proven_text(replayed.incomplete, replayed.untested, verdicts_of(replayed));
    return "All " + tests + " are within their bounds" +
           (missing.empty() ? "" : ", but " + missing) + ".";
  }
  return std::to_string(failed) + " of " + tests + (failed == 1 ? " is" : " are") + " wrong on " +
         replayed.target + ".";
}

std::string replay_html(const Replayed& replayed, const std::string& command,
                        const CommandOptions& options) {
  PageContent content;
  content.command = "replay";
  content.title = replayed.suite + " on " + replayed.target;
  content.line = verdict_line(replayed);
  content.verdict = replay_verdict(replayed);
  for (const KernelVerdict& verdict : replayed.verdicts) {
    PageKernel kernel;
    kernel.name = verdict.group ? test_name(verdict) + ": " + verdict.kernel : verdict.kernel;
    kernel.state = state_of(verdict);
    kernel.outcome = verdict_outcome(verdict);
    kernel.verdict = &verdict;
    kernel.groups = verdict.groups;
    if (const auto it = replayed.sources.find(verdict.kernel); it != replayed.sources.end()) {
      kernel.source = &it->second;
    }
    if (verdict.group)
      kernel.details.emplace_back("inputs and outputs", group_values_text(verdict));
    if (kernel.wrong() && verdict.group) {
      CommandOptions one = options;
      one.group = static_cast<int64_t>(verdict.group->index);
      kernel.reproducer = replay_command(replayed.suite, replayed.target, "", one);
    } else if (kernel.wrong()) {
      kernel.reproducer = replay_command(replayed.suite, replayed.target, kernel.name,
                                         options_of_kernel(options, kernel.name));
    }
    content.kernels.push_back(std::move(kernel));
  }
  for (const auto& [name, layers] : replayed.untested) {
    PageKernel kernel;
    kernel.name = name;
    kernel.outcome = "untested";
    kernel.layers = layers;
    content.kernels.push_back(std::move(kernel));
  }
  for (const std::string& name : replayed.not_selected) {
    PageKernel kernel;
    kernel.name = name;
    kernel.outcome = "not selected";
    content.kernels.push_back(std::move(kernel));
  }
  const std::string allowed =
      target_allowances_text(replayed.target, replayed.allowances, verdicts_of(replayed));
  if (!allowed.empty()) content.remarks.push_back(allowed);
  content.speed = &replayed.speed;
  content.timeline = replayed.timeline;
  content.seconds = replayed.seconds;
  content.devices = {{"target", replayed.target, replayed.target_info}};
  content.command_line = command;
  content.run = replayed.run;
  return report_page(content);
}

}  // namespace tapml::topdown
