#include "topdown/report/side_by_side.h"

#include <algorithm>

#include "base/host/terminal.h"
#include "topdown/report/layer_table.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/suite/coverage.h"

namespace tapml::topdown {

namespace {

// The row of a kernel; added if missing.
KernelRow& row_of(std::vector<KernelRow>& rows, const std::string& kernel, size_t targets) {
  auto row = std::ranges::find(rows, kernel, &KernelRow::kernel);
  if (row == rows.end()) {
    rows.push_back({.kernel = kernel});
    row = rows.end() - 1;
    row->cells.resize(targets);
  }
  return *row;
}

TableCell outcome_cell(const std::string& text, bool good, bool tried) {
  return {text, !tried ? Style::kDim : good ? Style::kGreen : Style::kRed};
}

}  // namespace

std::vector<KernelRow> kernel_rows(const Migrations& migrations) {
  std::vector<KernelRow> rows;
  const size_t targets = migrations.targets.size();
  for (size_t t = 0; t < targets; ++t) {
    const Migration& migration = migrations.targets[t];
    size_t index = 0;
    for (const MigrationStep& step : migration.steps) {
      KernelRow& row = row_of(rows, step.verdict.kernel, targets);
      if (!row.verdict) row.verdict = &step.verdict;
      row.cells[t] = {state_of(step), outcome_of(step), index++};
    }
    for (const std::string& kernel : migration.untried) {
      row_of(rows, kernel, targets).cells[t] = {KernelState::kUntested, "not tried", index++};
    }
    for (const KernelUse& use : migration.untested) {
      row_of(rows, use.kernel, targets).cells[t] = {KernelState::kUntested, "untested", index++};
    }
  }
  return rows;
}

std::vector<LayerRow> layer_rows(const Migrations& migrations) {
  std::vector<LayerRow> rows;
  const size_t targets = migrations.targets.size();
  for (size_t t = 0; t < targets; ++t) {
    for (const LayerStep& layer : migrations.targets[t].layers) {
      auto row = std::ranges::find(rows, layer.layer, &LayerRow::layer);
      if (row == rows.end()) {
        rows.push_back({layer.layer, std::vector<const LayerStep*>(targets)});
        row = rows.end() - 1;
      }
      row->cells[t] = &layer;
    }
  }
  return rows;
}

std::string model_outcome(const Migration& migration) {
  if (migration.error) {
    return migration.error->kind == ErrorKind::kPlatform
               ? platform_fault_name(migration.error->fault)
               : "ended by an error";
  }
  if (!migration.target_ran) return "not run";
  if (!migration.whole.failure.empty()) return "fails";
  if (!migration.whole.passed) return "mismatch";
  if (migration.whole.cosine_distance) return "same vectors";
  if (migration.first_divergence < 0) return "same text";
  return migration.tie ? "a tie" : "another text";
}

std::vector<std::string> side_by_side(const Migrations& migrations, size_t width, bool colors) {
  std::vector<TableColumn> columns = {{.name = "kernel"}, {.name = "in"}};
  for (const Migration& migration : migrations.targets) {
    columns.push_back({.name = migration.target});
  }
  columns.push_back({.name = "layers", .below = true});
  std::vector<TableRow> rows;
  for (const KernelRow& row : kernel_rows(migrations)) {
    TableRow cells = {row.kernel, row.verdict ? used_in(*row.verdict) : ""};
    for (const TargetCell& cell : row.cells) {
      cells.push_back(outcome_cell(cell.outcome, cell.state == KernelState::kPassed,
                                   cell.state != KernelState::kUntested));
    }
    cells.emplace_back(row.verdict ? layers_text(*row.verdict) : "");
    rows.push_back(std::move(cells));
  }
  for (const LayerRow& row : layer_rows(migrations)) {
    TableRow cells = {"layer " + row.layer, ""};
    for (const LayerStep* layer : row.cells) {
      cells.push_back(outcome_cell(layer ? layer_outcome(*layer) : "not tried",
                                   layer && layer->left.empty(), layer && layer->tried));
    }
    rows.push_back(std::move(cells));
  }
  TableRow whole = {"whole model", ""};
  for (const Migration& migration : migrations.targets) {
    whole.push_back(outcome_cell(model_outcome(migration), migration.whole_passed(),
                                 migration.target_ran || migration.error));
  }
  rows.push_back(std::move(whole));
  return table_lines(columns, rows, width, colors);
}

std::string migrations_verdict(const Migrations& migrations) {
  const auto source_nan = std::ranges::find_if(
      migrations.targets, [](const Migration& one) { return one.source_nan.has_value(); });
  if (source_nan != migrations.targets.end()) return migration_verdict(*source_nan);
  const auto passed =
      std::ranges::count_if(migrations.targets, [](const Migration& one) { return one.passed(); });
  const auto ended = std::ranges::count_if(
      migrations.targets, [](const Migration& one) { return one.error.has_value(); });
  const std::string all = std::to_string(migrations.targets.size());
  if (migrations.passed()) {
    return "Every kernel migrated to all " + all + " targets; each runs the whole model.";
  }
  if (migrations.verdict() == Verdict::kNotProven && ended == 0) {
    std::string text = "Nothing is wrong in what was tested on " + all + " targets";
    std::vector<const KernelVerdict*> verdicts;
    for (const Migration& one : migrations.targets) {
      for (const KernelVerdict* verdict : verdicts_of(one)) verdicts.push_back(verdict);
    }
    const std::string missing = not_proven_text("", migrations.targets[0].untested, verdicts);
    return text + (missing.empty() ? "." : ", but " + missing + ".");
  }
  return std::to_string(passed) + " of " + all + " targets run the whole model" +
         (ended == 0 ? "."
                     : "; " + std::to_string(ended) + (ended == 1 ? " was" : " were") +
                           " ended by an error.");
}

}  // namespace tapml::topdown
