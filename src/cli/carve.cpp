// tapml carve: runs a program and carves a test from every kernel call.
#include "app/commands/carve.h"

#include <CLI/CLI.hpp>

#include "base/host/progress.h"
#include "base/units.h"
#include "cli/check_output.h"
#include "cli/command.h"
#include "cli/import_trust.h"
#include "cli/kernel_progress.h"
#include "cli/options.h"
#include "cli/sizes.h"
#include "cli/suite_completeness.h"
#include "ir/exceptions.h"
#include "llm/speculation/speculation.h"
#include "topdown/results/result_json.h"

namespace tapml::cli {

namespace {

struct CarveOptions {
  CarveCommand command;
  std::string budget;
  ImportTrust trust;
};

// With a budget, also how much of it is used.
void print_dropped(const topdown::Suite& suite, const Output& output) {
  for (size_t k = 0; k < suite.kernels.size(); ++k) {
    const topdown::SuiteKernel& kernel = suite.kernels[k];
    if (kernel.dropped == 0) continue;
    int64_t kept = 0;
    for (const topdown::SuiteCall& call : suite.calls) {
      if (call.kernel == static_cast<int32_t>(k) && !call.added) kept += call.times;
    }
    output.line("dropped " + std::to_string(kernel.dropped) + " of " +
                counted(kernel.dropped + kept, "call") + " of " + kernel.name);
  }
}

int run(const CarveOptions& options, const Output& output) {
  CarveCommand command = options.command;
  if (!options.budget.empty()) {
    command.budget_bytes = parse_size(options.budget, "--budget");
    if (command.budget_bytes == 0) throw_user("the budget is zero", "--budget", "1 or more", "0");
  }
  Progress progress = Progress::to_stderr(output.json);
  const std::vector<std::string>& texts =
      command.prompts.empty() ? command.texts.texts : command.prompts;
  const std::string first = texts.empty() ? "" : texts.front();
  const std::optional<topdown::ImportCheck> import =
      options.trust.check(command.model.model, first, progress, output);
  if (import && !import->passed()) {
    return refuse_import(*import,
                         {.command = "carve",
                          .title = "tapml carve " + command.model.model,
                          .model = command.model.model,
                          .prompt = first,
                          .python = options.trust.python,
                          .report = ""},
                         {}, output);
  }
  CommandHooks hooks = command_hooks(progress);
  hooks.checked = [&] { check_future_folder(command.folder); };
  hooks.phase = [&](const std::string& name, int64_t total) {
    progress.begin(name, total, name == "load" ? Progress::kPatience : 0);
  };
  const Carved carved = carve(command, hooks);
  const topdown::Suite& suite = carved.suite;
  topdown::CarveSummary summary = topdown::carve_summary(suite, command.folder);
  const int64_t dropped = summary.dropped, added = summary.added;
  if (command.budget_bytes > 0) print_dropped(suite, output);
  output.line(command.folder + ": " + counted(std::ssize(suite.calls), "test") + " for " +
              counted(std::ssize(suite.kernels), "kernel") +
              (added > 0 ? " (" + std::to_string(added) + " that the run did not have)" : "") +
              ", " + size_text(carved.bytes) +
              (dropped > 0 ? ", " + counted(dropped, "call") + " dropped" : ""));
  if (carved.edge_added) {
    output.line(counted(carved.edge.added, "edge case") + " added");
    for (const std::string& text : carved.edge.unsupported) output.line("unsupported: " + text);
  }
  if (carved.nan) output.line(topdown::source_nan_text(*carved.nan));
  say_what_is_missing(suite, output);
  summary.tensors = carved.tensors;
  summary.bytes = carved.bytes;
  summary.edge_added = carved.edge.added;
  summary.edge_unsupported = carved.edge.unsupported;
  summary.nan = carved.nan;
  summary.import = import;
  output.document(topdown::carve_json(summary));
  if (carved.interrupted) return kInterrupted;
  return carved.nan ? kDifference : kDone;
}

}  // namespace

void add_carve(Registration registration) {
  auto* app =
      registration.app.add_subcommand("carve", "Carve runs into tests of their kernel calls");
  app->footer("Example: tapml carve models/demo --prompt \"And God said\" -o out/suite");
  auto options = std::make_shared<CarveOptions>();
  CarveCommand* command = &options->command;
  add_options(*app, command->model);
  app->get_option("model")->description(
      "Hugging Face model directory, GGUF file, executable, package or text module");
  app->add_option("--prompt", command->prompts, "Text to run (repeatable)")
      ->allow_extra_args(false);
  app->add_option("--prompts", command->prompts_file, "File of texts to run, one per line");
  add_options(*app, command->texts);
  add_pooling_options(*app, command->model.format);
  app->add_option("-o,--output", command->folder, "Folder of the suite")->required();
  auto* tokens =
      app->add_option("--max-tokens", command->max_tokens, "Tokens to generate after each text")
          ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
          ->capture_default_str();
  app->add_option("--decode", command->decode, "Decode steps to carve after each text")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
      ->excludes(tokens);
  CLI::Option* batch =
      app->add_option("--batch", command->batch, "Texts to run at once, as one batch")
          ->check(CLI::Range(1, 4096))
          ->capture_default_str();
  app->add_option("--draft-tokens", command->draft_tokens,
                  "Add a call after each text that checks so many proposed tokens "
                  "(docs/speculative-decoding.md)")
      ->check(CLI::Range(int64_t{0}, llm::Speculation::kMostProposed))
      ->excludes(batch)
      ->capture_default_str();
  add_options(*app, command->sampler);
  app->add_flag("--edge", command->edge, "Add edge cases: extreme values and odd sizes");
  app->add_flag(
      "--as-run", command->as_run,
      "Carve what a plain run does: pages in order, no NaN in unused rows, no added calls");
  app->add_option("--calls", command->calls,
                  "Most calls to keep for each kernel and each set of sizes (0: all)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->capture_default_str();
  app->add_option("--budget", options->budget,
                  "Largest size of the tensors, such as 2GB, for the calls that differ most");
  app->add_option("--weights", command->weights,
                  "Where to keep weights: in the suite, or by reference to the model directory")
      ->check(CLI::IsMember({"inside", "reference"}))
      ->capture_default_str();
  app->add_option("--inputs", command->inputs,
                  "File of a function's arguments by name, for one call (safetensors, repeatable)")
      ->allow_extra_args(false);
  app->add_option("--function", command->function, "Function of a text module")
      ->default_str("the only one, or main");
  options->trust.add_to(*app);
  app->get_option("--target")->description("Trusted platform: kind[:key=value,...][@endpoint]");
  set_runner(*app, registration, options, run);
}

}  // namespace tapml::cli
