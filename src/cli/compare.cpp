// tapml compare: what became worse between two reports.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <set>

#include "base/host/table.h"
#include "base/host/terminal.h"
#include "cli/command.h"
#include "cli/options.h"
#include "ir/exceptions.h"
#include "topdown/report/compare_reports.h"

namespace tapml::cli {

namespace {

struct CompareOptions {
  std::string before, after;
  bool all = false;
};

std::string ratio_text(const std::optional<topdown::ReportedKernel>& kernel) {
  if (!kernel || !kernel->ratio) return "";
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", *kernel->ratio);
  return text;
}

TableRow row_of(const topdown::ComparedKernel& kernel, bool several) {
  const topdown::ReportedKernel& shown = kernel.after ? *kernel.after : *kernel.before;
  std::string name = shown.name;
  if (several) name += " on " + shown.target;
  if (kernel.before && kernel.after && kernel.before->name != kernel.after->name) {
    name += " (was " + kernel.before->name + ")";
  }
  TableCell change = topdown::change_name(kernel.change);
  if (kernel.change == topdown::KernelChange::kWorse) change.style = Style::kRed;
  if (kernel.change == topdown::KernelChange::kBetter) change.style = Style::kGreen;
  return {std::move(change),         kernel.before ? kernel.before->outcome : "",
          ratio_text(kernel.before), kernel.after ? kernel.after->outcome : "",
          ratio_text(kernel.after),  std::move(name)};
}

int run(const CompareOptions& options, const Output& output) {
  const topdown::ComparedReports compared = unwrap(topdown::compare_reports(
      unwrap(topdown::read_report(options.before)), unwrap(topdown::read_report(options.after))));
  for (const std::string& line : topdown::different_facts(compared)) output.line(line);
  std::set<std::string> targets;
  for (const topdown::ReportFile* report : {&compared.before, &compared.after}) {
    for (const topdown::ReportedKernel& kernel : report->kernels) targets.insert(kernel.target);
  }
  std::vector<TableRow> rows;
  for (const topdown::ComparedKernel& kernel : compared.kernels) {
    if (options.all || kernel.notable()) rows.push_back(row_of(kernel, targets.size() > 1));
  }
  if (!rows.empty()) {
    for (const std::string& line :
         table_lines({{.name = "change"},
                      {.name = "before"},
                      {.name = "error/bound", .number = true},
                      {.name = "after"},
                      {.name = "error/bound", .number = true},
                      {.name = "kernel", .below = true}},
                     rows, text_width(STDOUT_FILENO), terminal_has_colors(STDOUT_FILENO))) {
      output.line(line);
    }
  }
  output.document(topdown::compared_reports_json(compared));
  output.last_line(topdown::verdict_line(compared).text());
  return compared.passed() ? kDone : kDifference;
}

}  // namespace

void add_compare(Registration registration) {
  auto* app = registration.app.add_subcommand(
      "compare", "List the kernels that became worse between two reports");
  app->footer("Example: tapml compare out/monday out/tuesday");
  auto options = std::make_shared<CompareOptions>();
  app->add_option("before", options->before,
                  "Folder of --report of migrate or replay, or its report.json")
      ->required();
  app->add_option("after", options->after, "The later report of the same command")->required();
  app->add_flag("--all", options->all, "Show also the kernels that did not change");
  set_runner(*app, registration,
             [options, registration] { return run(*options, registration.output); });
}

}  // namespace tapml::cli
