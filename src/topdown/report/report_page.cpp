#include <algorithm>

#include "base/units.h"
#include "topdown/report/error_plot.h"
#include "topdown/report/html.h"
#include "topdown/report/kernel_table.h"
#include "topdown/report/layer_table.h"
#include "topdown/report/model_map.h"
#include "topdown/report/page_content.h"
#include "topdown/report/page_shell.h"
#include "topdown/report/precision_plot.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/run_facts_part.h"
#include "topdown/report/speed_table.h"
#include "topdown/report/timeline_chart.h"

namespace tapml::topdown {

namespace {

std::string counts_text(const PageContent& content) {
  std::string text;
  for (KernelState state :
       {KernelState::kPassed, KernelState::kMismatch, KernelState::kHybridMismatch,
        KernelState::kFails, KernelState::kUntested}) {
    const auto count = std::ranges::count(content.kernels, state, &PageKernel::state);
    if (count == 0) continue;
    text += std::string(text.empty() ? "" : ", ") + state_sign(state) + " " +
            std::to_string(count) + " " + state_name(state);
  }
  if (content.kernels.empty()) return "Took " + seconds(content.seconds) + ".";
  return counted(std::ssize(content.kernels), "kernel") + ": " +
         (text.empty() ? "none tried" : text) + ". Took " + seconds(content.seconds) + ".";
}

std::string check_rows(const std::vector<PageCheck>& checks) {
  std::string rows;
  for (const auto& [name, check] : checks) {
    if (!check.failure.empty()) {
      rows += table_row({escaped(name), "✖ fails: " + escaped(check.failure)}, true);
      continue;
    }
    std::vector<std::string> cells = {
        escaped(name), check.passed ? "✓ within its bound" : "≠ outside of its bound",
        number(check.max_abs), number(check.bound), number(check.source_error)};
    if (check.cosine_distance) {
      cells.push_back(number(*check.cosine_distance));
    } else {
      char agreement[32];
      std::snprintf(agreement, sizeof agreement, "%.1f%%", 100 * check.top_k_agreement);
      const std::string divergence = divergence_text(check);
      cells.insert(cells.end(), {number(check.kl_max), number(check.kl_mean), agreement,
                                 divergence.empty() ? "none" : escaped(divergence)});
    }
    cells.push_back(std::to_string(check.positions));
    rows += table_row(cells, true);
  }
  return rows;
}

std::string check_table(const std::vector<PageCheck>& checks) {
  const bool vectors = std::ranges::any_of(
      checks, [](const PageCheck& one) { return one.check.cosine_distance.has_value(); });
  std::vector<std::string> heads = {vectors ? "vectors" : "logits", "", "largest error", "bound",
                                    "source's error"};
  if (vectors) {
    heads.insert(heads.end(), {"cosine distance at most", "texts"});
  } else {
    heads.insert(heads.end(), {"KL at most", "KL mean", "top " + std::to_string(ModelCheck::kTopK),
                               "first different candidate", "tokens"});
  }
  return table(heads, check_rows(checks), "model");
}

std::string text_parts(const std::vector<PageText>& texts) {
  std::string parts;
  for (const auto& [name, text] : texts) {
    parts += element("p", escaped(name) + ":");
    if (!text.empty()) parts += element("pre", escaped(text));
  }
  return parts;
}

// The tokens whose choice an error within its bound may change are marked.
std::string token_table(const std::vector<PageToken>& tokens) {
  if (tokens.empty()) return "";
  std::string rows;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const TokenMargin& margin = tokens[i].margin;
    rows += table_row({std::to_string(i), element("code", escaped(tokens[i].text)),
                       std::to_string(margin.token), number(margin.margin), number(margin.bound),
                       margin.open() ? "≈ an error within its bound may change it" : "✓"},
                      true);
  }
  return table({"after the prompt", "reference's choice", "id", "margin to the second",
                "error allowed of a logit", "decided"},
               rows, "model");
}

std::string remark_lines(const std::vector<std::string>& remarks) {
  std::string lines;
  for (const std::string& remark : remarks) lines += element("p", escaped(remark));
  return lines;
}

}  // namespace

const char* state_sign(KernelState state) {
  switch (state) {
    case KernelState::kPassed:
      return "✓";
    case KernelState::kMismatch:
      return "≠";
    case KernelState::kHybridMismatch:
      return "≈";
    case KernelState::kFails:
      return "✖";
    case KernelState::kUntested:
      return "·";
  }
  return "·";
}

KernelState state_of(const KernelVerdict& verdict) {
  if (verdict.failed != Failure::kNone) return KernelState::kFails;
  if (!verdict.passed) return KernelState::kMismatch;
  return verdict.proven() ? KernelState::kPassed : KernelState::kUntested;
}

const char* state_class(KernelState state) {
  switch (state) {
    case KernelState::kPassed:
      return "ok";
    case KernelState::kMismatch:
      return "mismatch";
    case KernelState::kHybridMismatch:
      return "hybrid";
    case KernelState::kFails:
      return "fails";
    case KernelState::kUntested:
      return "untested";
  }
  return "untested";
}

const char* state_name(KernelState state) {
  switch (state) {
    case KernelState::kPassed:
      return "right";
    case KernelState::kMismatch:
      return "mismatch";
    case KernelState::kHybridMismatch:
      return "wrong in the model only";
    case KernelState::kFails:
      return "crashes or does not run";
    case KernelState::kUntested:
      return "not tested";
  }
  return "not tested";
}

std::string kernel_anchor(size_t index) { return "kernel-" + std::to_string(index + 1); }
std::string failure_anchor(size_t index) { return "failure-" + std::to_string(index + 1); }

std::string report_page(const PageContent& content) {
  Sections sections;
  if (!content.above.empty()) sections.link(content.above, "All targets");
  if (!content.kernels.empty()) {
    sections.add("map", "Map of the model", model_map(content.kernels));
    sections.add("failures", "What is wrong", failure_parts(content.kernels));
    sections.add("errors", "Errors by layer", error_plot(content.kernels));
    sections.add("kernels", "Kernels", kernel_table(content.kernels));
    sections.add("precision", "Errors and honest rounding", precision_part(content.kernels));
  }
  sections.add("layers", "Layer by layer", layer_table(content.layers));
  if (content.speed) {
    sections.add("speed", "Speed", speed_table(*content.speed, content.kernels));
  }
  sections.add("own", "Custom kernels", user_kernel_table(content.kernels));
  sections.add("tolerances", "Widened bounds", tolerance_table(content.kernels));
  if (!content.checks.empty()) {
    sections.add("model", "Whole model", check_table(content.checks));
  }
  sections.add("texts", "Texts", text_parts(content.texts));
  sections.add("tokens", "Tokens and their margins", token_table(content.tokens));
  sections.add("code", "Code of the kernels", code_parts(content.kernels));
  sections.add("timeline", "Timeline",
               remark_lines(content.remarks) + timeline_chart(content.timeline));
  return page_shell({.command = content.command,
                     .title = content.title,
                     .line = content.line,
                     .verdict = content.verdict,
                     .counts = counts_text(content),
                     .facts = run_facts_part(content.run, content.devices, content.command_line)},
                    sections);
}

}  // namespace tapml::topdown
