// tapml eval: evaluates a model on tasks, on several platforms side by side.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "abi/platforms.h"
#include "app/commands/evaluate.h"
#include "base/host/progress.h"
#include "base/host/table.h"
#include "base/host/terminal.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/kernel_progress.h"
#include "cli/options.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/results/result_json.h"

namespace tapml::cli {

namespace {

using topdown::Evaluation;

std::string cell(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

void print(const Output& output, const std::vector<Evaluation>& evaluations,
           const std::string& reference) {
  std::vector<TableColumn> columns = {{.name = ""}};
  for (const Evaluation& one : evaluations) columns.push_back({.name = one.target, .number = true});
  std::vector<TableRow> rows;
  auto row = [&](const std::string& name, const auto& value) {
    TableRow cells = {name};
    for (size_t i = 0; i < evaluations.size(); ++i) cells.emplace_back(value(i));
    rows.push_back(std::move(cells));
  };
  for (topdown::TaskKind kind : topdown::kTaskKinds) {
    if (!evaluations[0].kinds.contains(kind)) continue;
    const std::string name = topdown::task_kind_name(kind);
    if (kind != topdown::TaskKind::kPerplexity) {
      row(name, [&](size_t i) {
        const topdown::EvalTotal& total = evaluations[i].kinds.at(kind);
        return std::to_string(total.correct) + "/" + std::to_string(total.tasks);
      });
    } else {
      row(name, [&](size_t i) { return cell("%.4f", evaluations[i].kinds.at(kind).perplexity()); });
    }
  }
  row("nats per token", [&](size_t i) { return cell("%.6f", evaluations[i].total.mean_nll()); });
  if (!reference.empty()) {
    row("different tasks",
        [&](size_t i) { return std::to_string(evaluations[i].comparison->flipped.size()); });
    row("nats off by",
        [&](size_t i) { return cell("%.4f%%", 100 * evaluations[i].comparison->nll_off); });
  }
  for (const std::string& line : table_lines(columns, rows, text_width(STDOUT_FILENO))) {
    output.line(line);
  }
  const bool colors = terminal_has_colors(1);
  for (const Evaluation& one : evaluations) {
    if (one.failure.empty()) continue;
    output.line(styled(one.target + " does not compute finite logits", Style::kRed, colors) + ": " +
                one.failure);
  }
  if (reference.empty()) return;
  for (const Evaluation& one : evaluations) {
    if (one.comparison->passed) continue;
    output.line(styled(one.target + " disagrees with " + reference, Style::kRed, colors) + ": " +
                std::to_string(one.comparison->tasks_off) + " different tasks (" +
                std::to_string(topdown::kMostTasksOff) + " at most), nats per token off by " +
                cell("%.3g%%", 100 * one.comparison->nll_off) + " (" +
                cell("%.1f%%", 100 * topdown::kMostNllOff) + " at most)");
  }
}

void print(const Output& output, const topdown::QuantizationCost& cost,
           const std::string& quantize) {
  output.line("");
  output.line(quantize + " compared with the unquantized model, " +
              counted(cost.positions, "token") + ":");
  output.line("weight error (rms, relative)  " + cell("%.4f", cost.weight_error));
  output.line("KL divergence, mean           " + cell("%.4f", cost.kl_mean) + " nats");
  output.line("KL divergence, largest        " + cell("%.4f", cost.kl_max) + " nats");
  output.line("nats per token, unquantized   " + cell("%.6f", cost.nll));
}

int run(const EvaluateCommand& command, const Output& output) {
  Progress progress = Progress::to_stderr(output.json);
  const topdown::Evaluated evaluated = app::evaluate(command, command_hooks(progress));
  print(output, evaluated.evaluations, evaluated.reference);
  if (evaluated.cost) print(output, *evaluated.cost, command.model.format.quantize);
  output.document(topdown::evaluated_json(evaluated));
  // Without a reference there is nothing to validate.
  if (!evaluated.reference.empty()) {
    std::vector<topdown::EvalComparison> others;
    for (const Evaluation& one : evaluated.evaluations) {
      if (one.target != evaluated.reference) others.push_back(*one.comparison);
    }
    output.last_line(topdown::verdict_line(others, evaluated.evaluations[0].total).text());
  }
  return evaluated.passed() ? kDone : kDifference;
}

}  // namespace

void add_eval(Registration registration) {
  auto* app = registration.app.add_subcommand(
      "eval", "Evaluate a model's tasks on several platforms, side by side");
  app->footer(
      "Example: tapml eval models/demo --target opencl --reference cpu --tasks models/cloze.jsonl");
  auto command = std::make_shared<EvaluateCommand>();
  auto targets = std::make_shared<std::vector<std::string>>(1, kDefaultPlatform);
  app->add_option("model", command->model.model,
                  "Hugging Face model directory, GGUF file, executable or package")
      ->required();
  app->add_option("--target", *targets,
                  "Platform to run on: kind[:key=value,...][@endpoint] (repeatable)")
      ->capture_default_str();
  app->add_option("--reference", command->reference, "Platform that the others must agree with");
  app->add_option("--tasks", command->tasks,
                  "File of tasks, one JSON object per line (docs/cli.md)")
      ->required();
  app->add_option("--model", command->model.folder,
                  "Model directory of an executable whose weights have moved");
  add_options(*app, command->model.cache);
  add_options(*app, command->model.patterns);
  add_options(*app, command->model.format);
  add_options(*app, command->model.inputs);
  app->add_flag("--unquantized", command->unquantized,
                "Compare the quantized model with the unquantized one on the first target");
  add_options(*app, command->model.libraries);
  add_options(*app, command->model.remote);
  set_runner(*app, registration, [command, targets, registration] {
    for (const std::string& target : *targets) {
      command->targets.push_back(
          app::PlatformChoice::of(target, command->model.libraries, command->model.remote));
    }
    return run(*command, registration.output);
  });
}

}  // namespace tapml::cli
