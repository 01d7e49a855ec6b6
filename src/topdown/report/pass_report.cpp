#include "topdown/report/pass_report.h"

#include "base/host/terminal.h"
#include "base/strings.h"
#include "topdown/report/page_content.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/verdict_lines.h"

namespace tapml::topdown {

namespace {

std::string wrong_text(const ModelCheck& check) {
  if (!check.failure.empty()) return check.failure;
  return "logits off by " + number(check.max_abs) + ", allowed " + number(check.bound);
}

std::string setting_text(const SettingCulprit& culprit, bool colors) {
  std::string text = styled("culprit: " + join(culprit.settings, " with "), Style::kRed, colors);
  for (size_t i = 0; i < culprit.settings.size(); ++i) {
    text += "\n  " + culprit.settings[i] + ": " + (i < culprit.docs.size() ? culprit.docs[i] : "");
  }
  text += culprit.settings.size() == 1
              ? "\n  with it alone the model is wrong, without it right: "
              : "\n  with them alone the model is wrong, without any one of them right: ";
  text += wrong_text(culprit.check);
  if (!culprit.kernels.empty()) text += "\n  on " + join(culprit.kernels, ", ");
  return text;
}

std::string pass_text(const PassCulprit& culprit, bool colors) {
  return styled("culprit: " + culprit.pass, Style::kRed, colors) +
         " (cannot be turned off)\n  evaluated " +
         (culprit.loops ? "by its loops" : "by its operators") +
         ", the program is right before it and wrong after it: " + wrong_text(culprit.check);
}

}  // namespace

std::string pass_verdict(const PassBisection& bisection) {
  if (bisection.whole.passed) return "nothing is wrong on " + bisection.target;
  if (!bisection.settings.empty() || bisection.pass) {
    const size_t count = bisection.settings.size() + (bisection.pass ? 1 : 0);
    return "the compiler makes the model wrong on " + bisection.target + ": " +
           std::to_string(count) + (count == 1 ? " culprit" : " culprits");
  }
  return "the model is wrong on " + bisection.target + " (" + wrong_text(bisection.bare) +
         "), and no pass is at fault: check the fallback's schedules, code generation and "
         "the platform; \"tapml localize\" without --bisect names the kernels";
}

std::vector<PassFinding> pass_findings(const PassBisection& bisection) {
  std::vector<PassFinding> findings;
  for (const SettingCulprit& culprit : bisection.settings) {
    findings.push_back({join(culprit.settings, " with "), setting_text(culprit, false)});
  }
  if (bisection.pass) {
    findings.push_back({bisection.pass->pass, pass_text(*bisection.pass, false)});
  }
  return findings;
}

std::string pass_bisection_text(const PassBisection& bisection, bool colors) {
  std::string text;
  for (const SettingCulprit& culprit : bisection.settings) {
    text += setting_text(culprit, colors) + "\n";
  }
  if (bisection.pass) text += pass_text(*bisection.pass, colors) + "\n";
  return text + pass_verdict(bisection);
}

std::string pass_bisection_html(const PassBisection& bisection, const std::string& model,
                                const std::string& prompt, const std::string& command,
                                const RunFacts& run) {
  PageContent content;
  content.command = "localize --bisect passes";
  content.title = model + ": passes, " + bisection.source + " to " + bisection.target;
  content.line = verdict_line(bisection);
  content.verdict = pass_verdict(bisection) + ".";
  content.checks.push_back({"all settings on", bisection.whole});
  if (bisection.found()) content.checks.push_back({"all settings off", bisection.bare});
  content.texts = {{bisection.whole.cosine_distance ? "texts" : "prompt", prompt}};
  for (const PassFinding& finding : pass_findings(bisection)) {
    content.texts.push_back({finding.name, finding.text});
  }
  if (bisection.pass) {
    content.texts.push_back({"the program before " + bisection.pass->pass, bisection.pass->before});
    content.texts.push_back({"the program after it", bisection.pass->after});
  }
  content.remarks.push_back("Runs of the model on the target: " + std::to_string(bisection.runs) +
                            "; evaluations of programs: " + std::to_string(bisection.evaluations));
  content.seconds = bisection.seconds;
  content.devices = {{"target", bisection.target, bisection.target_info}};
  content.command_line = command;
  content.run = run;
  return report_page(content);
}

}  // namespace tapml::topdown
