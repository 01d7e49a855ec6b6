// tapml eval: how well a model does on tasks, on several platforms side by side.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "abi/platforms.h"
#include "app/model.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/host/table.h"
#include "base/host/terminal.h"
#include "cli/command.h"
#include "cli/options.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "topdown/evaluate/evaluate.h"
#include "topdown/evaluate/quantization_cost.h"
#include "topdown/report/verdict_lines.h"

namespace tapml::cli {

namespace {

struct EvalCommand {
  ModelOptions model;  // whose target is one after the other of `targets`
  std::vector<std::string> targets = {kDefaultPlatform};
  std::string tasks, reference;
  bool unquantized = false;
};

using topdown::Evaluation;
using topdown::ScoredTask;

Evaluation evaluate_on(const std::string& target, ModelOptions options,
                       const std::vector<topdown::EvalTask>& tasks, const std::string& file,
                       std::vector<ScoredTask>& scored, Progress& progress) {
  progress.begin("compile for " + target);
  options.target = target;
  options.watcher = progress.watcher();
  const ReadyModel model =
      make_ready(options, [&](const Tokenizer& tokenizer, const ModelInterface& interface) {
        if (!scored.empty()) return;
        for (const topdown::EvalTask& task : tasks) {
          scored.push_back({task, encode_task(task, tokenizer, interface.context, file)});
        }
      });
  auto engine = make_engine(model);
  engine->machine().set_interrupt(&interrupt_flag());
  engine->machine().set_call_limit(options.step_limit);
  engine->set_watcher(progress.watcher());
  progress.begin("evaluate on " + target, static_cast<int64_t>(scored.size()));
  Evaluation result = topdown::evaluate(*engine, scored, [&](size_t task) {
    unwrap(check_interrupted());
    progress.step(scored[task].task.id);
  });
  result.target = target;
  progress.end(std::to_string(scored.size()) + " tasks");
  return result;
}

// The quantized model beside the model as it is, on one target.
topdown::QuantizationCost cost_on(const std::string& target, ModelOptions options,
                                  const std::vector<ScoredTask>& scored, Progress& progress) {
  progress.begin("compile for " + target + ", with and without --quantize");
  options.target = target;
  options.watcher = progress.watcher();
  const ReadyModel quantized = make_ready(options, {});
  options.quantize.clear();
  const ReadyModel plain = make_ready(options, {});
  const auto engine = make_engine(plain), other = make_engine(quantized);
  engine->set_watcher(progress.watcher());
  other->set_watcher(progress.watcher());
  progress.begin("compare on " + target, static_cast<int64_t>(scored.size()));
  topdown::QuantizationCost cost =
      topdown::quantization_cost(*engine, *other, scored, [&](size_t task) {
        unwrap(check_interrupted());
        progress.step(scored[task].task.id);
      });
  cost.weight_error = topdown::weight_error(plain.weights, quantized.weights);
  progress.end(std::to_string(cost.positions) + " tokens");
  return cost;
}

std::string cell(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

void print(const Output& output, const std::vector<Evaluation>& evaluations,
           const std::vector<topdown::EvalComparison>& comparisons, const std::string& reference) {
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
  row("nats a token", [&](size_t i) { return cell("%.6f", evaluations[i].total.mean_nll()); });
  if (!reference.empty()) {
    row("tasks that differ",
        [&](size_t i) { return std::to_string(comparisons[i].flipped.size()); });
    row("nats off by", [&](size_t i) { return cell("%.4f%%", 100 * comparisons[i].nll_off); });
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
  for (size_t i = 0; i < evaluations.size(); ++i) {
    if (comparisons[i].passed) continue;
    output.line(styled(evaluations[i].target + " is not " + reference, Style::kRed, colors) + ": " +
                std::to_string(comparisons[i].tasks_off) + " tasks off (" +
                std::to_string(topdown::kMostTasksOff) + " at most), nats a token by " +
                cell("%.3g%%", 100 * comparisons[i].nll_off) + " (" +
                cell("%.1f%%", 100 * topdown::kMostNllOff) + " at most)");
  }
}

void print(const Output& output, const topdown::QuantizationCost& cost,
           const std::string& quantize) {
  output.line("");
  output.line(quantize + " against the model as it is, " + std::to_string(cost.positions) +
              " tokens:");
  output.line("weight error (rms, relative)  " + cell("%.4f", cost.weight_error));
  output.line("KL divergence, mean           " + cell("%.4f", cost.kl_mean) + " nats");
  output.line("KL divergence, largest        " + cell("%.4f", cost.kl_max) + " nats");
  output.line("nats a token as it is         " + cell("%.6f", cost.nll));
}

int run(const EvalCommand& command, const Output& output) {
  if (command.unquantized && command.model.quantize.empty()) {
    throw_user("there is nothing to hold the model against", "--unquantized", "--quantize", "none");
  }
  const std::vector<topdown::EvalTask> tasks =
      topdown::parse_tasks(unwrap(read_text_file(command.tasks)), command.tasks);
  std::vector<std::string> targets;
  for (const std::string& target : command.targets) {
    target::parse_target(target);
    if (std::ranges::find(targets, target) == targets.end()) targets.push_back(target);
  }
  if (!command.reference.empty() &&
      std::ranges::find(targets, command.reference) == targets.end()) {
    target::parse_target(command.reference);
    targets.insert(targets.begin(), command.reference);
  }
  if (!command.reference.empty() && targets.size() == 1) {
    throw_user("the reference is the only platform, and agrees with itself", "--reference",
               "another --target beside it", command.reference);
  }
  Progress progress = Progress::to_stderr(output.json);
  std::vector<ScoredTask> scored;
  std::vector<Evaluation> evaluations;
  for (const std::string& target : targets) {
    evaluations.push_back(
        evaluate_on(target, command.model, tasks, command.tasks, scored, progress));
  }
  std::vector<topdown::EvalComparison> comparisons;
  bool passed =
      std::ranges::all_of(evaluations, [](const Evaluation& one) { return one.failure.empty(); });
  if (!command.reference.empty()) {
    const auto reference = std::ranges::find(evaluations, command.reference, &Evaluation::target);
    for (const Evaluation& one : evaluations) {
      comparisons.push_back(topdown::compare_evaluations(scored, one, *reference));
      passed &= comparisons.back().passed;
    }
  }
  print(output, evaluations, comparisons, command.reference);
  std::optional<topdown::QuantizationCost> cost;
  if (command.unquantized && passed) {
    cost = cost_on(targets[0], command.model, scored, progress);
    print(output, *cost, command.model.quantize);
  }
  std::vector<Json> documents;
  for (size_t i = 0; i < evaluations.size(); ++i) {
    documents.push_back(topdown::evaluation_json(scored, evaluations[i],
                                                 comparisons.empty() ? nullptr : &comparisons[i]));
  }
  // Without a reference nothing is validated.
  const bool judged = !command.reference.empty();
  std::optional<topdown::VerdictLine> verdict;
  if (judged) {
    std::vector<topdown::EvalComparison> others;
    for (size_t i = 0; i < evaluations.size(); ++i) {
      if (evaluations[i].target != command.reference) others.push_back(comparisons[i]);
    }
    verdict = topdown::verdict_line(others, evaluations[0].total);
  }
  output.document(Json::object(
      {{"tasks", Json::string(command.tasks)},
       {"reference", judged ? Json::string(command.reference) : Json::null()},
       {"passed", judged ? Json::boolean(passed) : Json::null()},
       {"verdict", judged ? Json::string(topdown::verdict_word(verdict->verdict)) : Json::null()},
       {"quantization", cost ? topdown::quantization_cost_json(*cost) : Json::null()},
       {"targets", Json::array(std::move(documents))}}));
  if (verdict) output.last_line(verdict->text());
  return passed ? kDone : kDifference;
}

}  // namespace

void add_eval(Registration registration) {
  auto* app = registration.app.add_subcommand(
      "eval", "Evaluate a model's tasks on several platforms, side by side");
  app->footer(
      "Example: tapml eval models/demo --target opencl --reference cpu --tasks models/cloze.jsonl");
  auto command = std::make_shared<EvalCommand>();
  app->add_option("model", command->model.model,
                  "Hugging Face model directory, executable or package")
      ->required();
  app->add_option("--target", command->targets,
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
  add_quantize_option(*app, command->model.quantize);
  app->add_flag("--unquantized", command->unquantized,
                "Compare the quantized model with the unquantized one on the first target");
  add_options(*app, command->model.libraries);
  add_options(*app, command->model.remote);
  app->add_flag("--json", registration.output.json, "Print one JSON document on standard output");
  app->callback([command, registration] {
    registration.selected = [command, registration] { return run(*command, registration.output); };
  });
}

}  // namespace tapml::cli
