#include "cli/migration_output.h"

#include <unistd.h>

#include "base/host/table.h"
#include "topdown/report/layer_table.h"
#include "topdown/report/side_by_side.h"
#include "topdown/report/speed_table.h"
#include "topdown/suite/coverage.h"

namespace tapml::cli {

namespace {

constexpr int kOut = STDOUT_FILENO;

TableLayout table_of(const topdown::Migration& migration, bool colors) {
  std::vector<std::string> names;
  for (const topdown::MigrationStep& step : migration.steps) names.push_back(step.verdict.kernel);
  for (const topdown::KernelUse& use : migration.untested) names.push_back(use.kernel);
  return topdown::verdict_table(names, text_width(kOut), colors);
}

void print_step(const Output& output, const TableLayout& table,
                const topdown::MigrationStep& step) {
  output.line(topdown::verdict_row(table, step.verdict, topdown::outcome_of(step)));
  for (const std::string& text :
       {topdown::tolerance_text(step.verdict), topdown::allowed_text(step.verdict),
        topdown::open_text(step.verdict), topdown::source_text(step.verdict)}) {
    if (!text.empty()) output.line("  " + text);
  }
}

// Details besides the migrated state.
bool has_something_to_tell(const topdown::MigrationStep& step) {
  return !step.migrated || step.verdict.tolerance || !step.verdict.allowances.empty() ||
         step.verdict.source_wrong || step.verdict.total().open > 0;
}

void print_culprits(const Output& output, const topdown::Migration& migration, bool colors) {
  for (const topdown::MigrationStep* step : migration.culprits()) {
    output.line(styled((step->accused() ? "culprit: kernel " : "not migrated: kernel ") +
                           step->verdict.kernel,
                       Style::kRed, colors) +
                " (" + topdown::outcome_of(*step) + ")");
    output.line("  used by: " + layers_summary(step->verdict.origin));
    if (const std::string lines = lines_summary(step->verdict.origin); !lines.empty()) {
      output.line("  made by: " + lines);
    }
    for (const std::string& text : {step->verdict.failure, step->verdict.note, step->hybrid.failure,
                                    topdown::flaky_text(step->repeated)}) {
      if (!text.empty()) output.line("  " + topdown::indented(text));
    }
  }
}

// The cause may be among these.
void print_untested(const Output& output, const topdown::Migration& migration,
                    const topdown::ReportTexts& texts, bool colors) {
  const std::string unproven = topdown::unproven_text(topdown::verdicts_of(migration));
  if (!unproven.empty()) output.line(styled("not proven: ", Style::kRed, colors) + unproven);
  if (migration.untested.empty()) return;
  const bool wrong = migration.target_ran && !migration.whole_passed();
  const std::string head = wrong ? "candidates: " : "not proven: ";
  output.line(styled(head, Style::kRed, colors) + topdown::untested_text(migration.untested));
  if (texts.options.reads_texts()) return;
  output.line(
      "  --validation-tokens 1 or more, with a prompt that the model continues, tests the "
      "kernels of decode");
}

// The target's own run.
void print_run(const Output& output, const topdown::Migration& migration,
               const topdown::ReportTexts& texts, bool colors) {
  const bool has_text = !texts.options.reads_texts();
  if (has_text) {
    output.line(styled(migration.target + ": ", Style::kBold, colors) + texts.prompt +
                texts.target_text);
  }
  if (!migration.whole.failure.empty()) {
    output.line("the target's own run failed: " + topdown::indented(migration.whole.failure));
    return;
  }
  if (has_text && migration.first_divergence < 0) {
    output.line("identical token for token (" + std::to_string(migration.target_tokens.size()) +
                " tokens)");
  } else if (has_text) {
    output.line("first different token: " + std::to_string(migration.first_divergence) +
                topdown::divergence_note(migration));
  }
  output.line(topdown::whole_model_text(migration.whole));
}

// The lines after the rows of kernels.
void print_end(const Output& output, const topdown::Migration& migration,
               const topdown::ReportTexts& texts, const std::string& state, bool colors) {
  if (!migration.layers.empty()) {
    for (const std::string& line :
         topdown::layer_lines(migration.layers, text_width(kOut), colors)) {
      output.line(line);
    }
    output.line("");
  }
  if (migration.target_ran) print_run(output, migration, texts, colors);
  if (migration.resumed > 0) {
    output.line(std::to_string(migration.resumed) + " of " +
                std::to_string(migration.steps.size()) + " kernels were already done (" + state +
                ")");
  }
  if (!migration.untried.empty()) {
    output.line("stopped: " + std::to_string(migration.untried.size()) + " kernels were not tried");
  }
  if (!migration.steps.empty()) output.line(topdown::copies_text(migration));
  const std::string allowed = topdown::target_allowances_text(
      migration.target, migration.allowances, topdown::verdicts_of(migration));
  if (!allowed.empty()) output.line(allowed);
  const std::string user = topdown::custom_kernels_text(topdown::verdicts_of(migration));
  if (!user.empty()) output.line(user);
  print_culprits(output, migration, colors);
  print_untested(output, migration, texts, colors);
  const std::string slow = topdown::slow_text(migration.speed, migration.target);
  if (!slow.empty()) output.line(slow);
}

}  // namespace

void print_source(const Output& output, const std::string& source,
                  const topdown::ReportTexts& texts) {
  // The vectors of texts say little to people.
  if (!texts.options.reads_texts()) {
    output.line(styled(source + ": ", Style::kBold, terminal_has_colors(1)) + texts.prompt +
                texts.source_text);
    output.line("");
  }
}

void print_migration(const Output& output, const topdown::Migration& migration,
                     const topdown::ReportTexts& texts, const std::string& state) {
  const bool colors = terminal_has_colors(1);
  const TableLayout table = table_of(migration, colors);
  if (migration.source_nan) {
    output.line(topdown::source_nan_text(*migration.source_nan));
  } else {
    output.line(topdown::verdict_header(table));
  }
  for (const topdown::MigrationStep& step : migration.steps) print_step(output, table, step);
  for (const topdown::KernelUse& use : migration.untested) {
    output.line(topdown::untested_row(table, use));
  }
  if (!migration.source_nan) output.line("");
  print_end(output, migration, texts, state, colors);
}

void print_migrations(const Output& output, const topdown::Migrations& migrations,
                      const topdown::MigrationsTexts& texts, const std::string& state) {
  const bool colors = terminal_has_colors(1);
  if (const auto& nan = migrations.targets.at(0).source_nan) {
    output.line(topdown::source_nan_text(*nan));
    return;
  }
  for (const std::string& line : topdown::side_by_side(migrations, text_width(kOut), colors))
    output.line(line);
  for (size_t t = 0; t < migrations.targets.size(); ++t) {
    const topdown::Migration& migration = migrations.targets[t];
    output.line("");
    output.line(styled("to " + migration.target, Style::kBold, colors));
    if (migration.error) {
      output.line(styled("ended by an error: ", Style::kRed, colors) +
                  topdown::indented(migration.error->to_string()));
    }
    const TableLayout table = table_of(migration, colors);
    bool any = false;
    for (const topdown::MigrationStep& step : migration.steps) {
      if (!has_something_to_tell(step)) continue;
      if (!any) output.line(topdown::verdict_header(table));
      any = true;
      print_step(output, table, step);
    }
    print_end(output, migration, texts.targets[t], state + "/" + texts.folders[t], colors);
  }
  output.line("");
  output.line(topdown::migrations_verdict(migrations));
}

}  // namespace tapml::cli
