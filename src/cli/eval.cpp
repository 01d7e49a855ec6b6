// tapml eval: evaluates a model on tasks, on several platforms side by side.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "abi/platforms.h"
#include "app/commands/evaluate.h"
#include "base/host/progress.h"
#include "base/host/table.h"
#include "base/host/terminal.h"
#include "base/printable.h"
#include "base/strings.h"
#include "base/units.h"
#include "cli/chat_options.h"
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

// The programs that did not pass, and those that are not the reference's.
std::vector<std::string> program_lines(const Evaluation& evaluation) {
  std::vector<std::string> lines;
  for (const topdown::TaskScore& score : evaluation.scores) {
    if (!score.program) continue;
    std::vector<std::string> facts;
    if (!score.correct) facts.push_back("not solved: " + printable_line(score.program->message));
    if (score.program->differs_at >= 0) {
      facts.push_back("differs from the reference at token " +
                      std::to_string(score.program->differs_at) +
                      cell(" (margin %.3g)", score.program->margin));
    }
    if (facts.empty()) continue;
    lines.push_back(evaluation.target + ", " + printable_line(score.id) + ": " + join(facts, "; "));
  }
  return lines;
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
  const bool has_scores = evaluations[0].total.tokens > 0;
  if (has_scores) {
    row("nats per token", [&](size_t i) { return cell("%.6f", evaluations[i].total.mean_nll()); });
  }
  if (!reference.empty()) {
    row("different tasks",
        [&](size_t i) { return std::to_string(evaluations[i].comparison->flipped.size()); });
    if (has_scores) {
      row("nats off by",
          [&](size_t i) { return cell("%.4f%%", 100 * evaluations[i].comparison->nll_off); });
    }
  }
  for (const std::string& line : table_lines(columns, rows, text_width(STDOUT_FILENO))) {
    output.line(line);
  }
  for (const Evaluation& one : evaluations) {
    for (const std::string& line : program_lines(one)) output.line(line);
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
  if (evaluated.cost) print(output, *evaluated.cost, command.model.format.quantization());
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
  app->add_flag("--chat", command->programs.chat,
                "Ask for programs in a chat, by the model's chat template");
  add_options(*app, command->chat);
  app->add_option("--max-tokens", command->programs.max_tokens, "Most tokens of a program")
      ->capture_default_str();
  app->add_option("--python", command->programs.python, "Interpreter that runs programs")
      ->capture_default_str();
  auto seconds = std::make_shared<int64_t>(command->programs.limits.time.count() / 1000);
  app->add_option("--program-seconds", *seconds, "Longest run of a program with its tests")
      ->capture_default_str();
  add_options(*app, command->model.libraries);
  add_options(*app, command->model.remote);
  set_runner(*app, registration, [command, targets, seconds, registration] {
    if (!command->programs.chat) refuse_chat_options(command->chat);
    command->programs.limits.time = std::chrono::seconds(*seconds);
    for (const std::string& target : *targets) {
      command->targets.push_back(
          app::PlatformChoice::of(target, command->model.libraries, command->model.remote));
    }
    return run(*command, registration.output);
  });
}

}  // namespace tapml::cli
