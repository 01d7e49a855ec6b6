// A page for a migration to several targets, with links to the pages of the targets.
#include <algorithm>

#include "base/units.h"
#include "topdown/report/html.h"
#include "topdown/report/layer_table.h"
#include "topdown/report/page_content.h"
#include "topdown/report/page_shell.h"
#include "topdown/report/report.h"
#include "topdown/report/report_files.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/run_facts_part.h"
#include "topdown/report/side_by_side.h"
#include "topdown/report/verdict_lines.h"

namespace tapml::topdown {

namespace {

std::string chip(KernelState state) {
  return element("span", {{"class", std::string("chip ") + state_class(state)}}, state_sign(state));
}

// The state of the whole model on a target.
KernelState model_state(const Migration& migration) {
  if (migration.whole_passed()) return KernelState::kPassed;
  if (migration.error || !migration.whole.failure.empty()) return KernelState::kFails;
  return migration.target_ran ? KernelState::kMismatch : KernelState::kUntested;
}

class Page {
 public:
  Page(const Migrations& migrations, const MigrationsTexts& texts)
      : migrations_(migrations), texts_(texts), rows_(kernel_rows(migrations)) {}

  std::string html() const {
    Sections sections;
    sections.add("targets", "Targets", targets());
    if (!rows_.empty()) sections.add("kernels", "Kernels on every target", kernels());
    sections.add("layers", "Layers on every target", layers());
    sections.add("texts", "Texts", continuations());
    PageHead head;
    head.command = "migrate";
    head.title = texts_.targets.at(0).model + ": " + migrations_.targets.at(0).source + " to " +
                 std::to_string(migrations_.targets.size()) + " targets";
    head.line = verdict_line(migrations_);
    head.verdict = migrations_verdict(migrations_);
    head.counts = counts();
    head.facts = run_facts_part(texts_.run, devices(), texts_.command);
    return page_shell(head, sections);
  }

 private:
  std::string link(size_t target, const std::string& anchor, const std::string& inner) const {
    return element("a", {{"href", texts_.folders[target] + "/report.html" + anchor}}, inner);
  }

  // The number of kernels with different outcomes on the platforms.
  std::string counts() const {
    const auto parted = std::ranges::count_if(rows_, [](const KernelRow& row) {
      return std::ranges::any_of(
          row.cells, [&](const TargetCell& cell) { return cell.state != row.cells[0].state; });
    });
    return counted(std::ssize(rows_), "kernel") + ", " + std::to_string(parted) +
           " not the same on all targets. Took " + seconds(migrations_.seconds) + ".";
  }

  std::string targets() const {
    std::string rows;
    for (size_t t = 0; t < migrations_.targets.size(); ++t) {
      const Migration& one = migrations_.targets[t];
      const auto moved = std::ranges::count(one.steps, true, &MigrationStep::migrated);
      const size_t all = one.steps.size() + one.untried.size() + one.untested.size();
      rows += table_row({link(t, "", escaped(one.target)), escaped(migration_verdict(one)),
                         std::to_string(moved) + " of " + std::to_string(all),
                         chip(model_state(one)) + " " + escaped(model_outcome(one)),
                         one.target_ran ? number(one.whole.max_abs) : "",
                         one.target_ran ? number(one.whole.bound) : "", seconds(one.seconds)},
                        true);
    }
    return table({"target", "verdict", "kernels moved", "whole model", "error", "bound", "took"},
                 rows, "facts");
  }

  std::string kernels() const {
    std::vector<std::string> heads = {"#", "kernel"};
    for (size_t t = 0; t < migrations_.targets.size(); ++t) {
      heads.push_back(link(t, "", escaped(migrations_.targets[t].target)));
    }
    std::string rows;
    for (size_t i = 0; i < rows_.size(); ++i) {
      const KernelRow& row = rows_[i];
      std::string name = element("code", escaped(row.kernel));
      if (row.verdict && !row.verdict->origin.layers.empty()) {
        name += element("div", {{"class", "layers"}}, escaped(layers_text(*row.verdict)));
      }
      std::string cells = element("td", std::to_string(i + 1)) + element("td", name);
      bool wrong = false;
      for (size_t t = 0; t < row.cells.size(); ++t) {
        const TargetCell& cell = row.cells[t];
        const bool tried = cell.state != KernelState::kUntested;
        const bool failed = tried && cell.state != KernelState::kPassed;
        wrong |= failed;
        const std::string anchor =
            "#" + (failed ? failure_anchor(cell.index) : kernel_anchor(cell.index));
        cells += element("td", chip(cell.state) + " " + link(t, anchor, escaped(cell.outcome)));
      }
      rows +=
          element("tr", {{"id", kernel_anchor(i)}, {"class", wrong ? "wrong" : ""}}, cells) + "\n";
    }
    return table(heads, rows, "kernels");
  }

  std::string layers() const {
    std::vector<std::string> heads = {"layer"};
    for (const Migration& one : migrations_.targets) heads.push_back(escaped(one.target));
    std::string rows;
    for (const LayerRow& row : layer_rows(migrations_)) {
      std::vector<std::string> cells = {escaped(row.layer)};
      for (size_t t = 0; t < row.cells.size(); ++t) {
        const LayerStep* layer = row.cells[t];
        cells.push_back(layer ? chip(state_of(*layer)) + " " +
                                    link(t, "#layers", escaped(layer_outcome(*layer)))
                              : chip(KernelState::kUntested) + " not tried");
      }
      rows += table_row(cells, true);
    }
    return rows.empty() ? "" : table(heads, rows, "facts");
  }

  std::string continuations() const {
    auto part = [](const std::string& name, const std::string& text) {
      return element("p", escaped(name) + ":") +
             (text.empty() ? "" : element("pre", escaped(text)));
    };
    const ReportTexts& first = texts_.targets[0];
    std::string parts = part(input_name(first.options), first.prompt);
    if (!first.options.reads_texts())
      parts += part(migrations_.targets[0].source, first.source_text);
    for (size_t t = 0; t < migrations_.targets.size(); ++t) {
      const Migration& one = migrations_.targets[t];
      if (one.target_ran) {
        parts += part(one.target + " (" + model_outcome(one) + ")", texts_.targets[t].target_text);
      }
    }
    return parts;
  }

  std::vector<PageDevice> devices() const {
    const Migration& first = migrations_.targets[0];
    std::vector<PageDevice> all = {{"source", first.source, first.source_info}};
    for (const Migration& one : migrations_.targets) {
      all.push_back({"target", one.target, one.target_info});
    }
    return all;
  }

  const Migrations& migrations_;
  const MigrationsTexts& texts_;
  std::vector<KernelRow> rows_;
};

}  // namespace

std::string migrations_html(const Migrations& migrations, const MigrationsTexts& texts) {
  return Page(migrations, texts).html();
}

}  // namespace tapml::topdown
