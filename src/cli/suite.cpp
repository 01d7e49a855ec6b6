// tapml suite: its commands, and edits of suites (cli/suite_contents shows their contents).
#include <CLI/CLI.hpp>
#include <filesystem>

#include "base/host/progress.h"
#include "base/units.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/sizes.h"
#include "cli/suite_completeness.h"
#include "cli/suite_contents.h"
#include "frontend/huggingface/model.h"
#include "io/error_json.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "pipeline/compile.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/suite/kernel_names.h"
#include "topdown/suite/merge_suites.h"
#include "topdown/suite/npz.h"
#include "topdown/suite/select_calls.h"
#include "topdown/suite/suite_folder.h"
#include "topdown/suite/verify_suite.h"

namespace tapml::cli {

namespace {

using topdown::Suite;
using topdown::SuiteCall;
using topdown::SuiteGroup;
using topdown::SuiteKernel;

struct SuiteCommand {
  std::string suite, output, kernel, budget, model;
  PatternOptions patterns;
  app::ModelFormat format;
  std::vector<std::string> suites, kernels;
  int64_t calls = 0;
  bool npz = false;
};

Progress patient(const Output& output) {
  return Progress::to_stderr(output.json, Progress::kPatience);
}

// The kernels that a --kernel selects.
std::set<std::string> kernels_of(const Suite& suite, const std::string& wanted) {
  const std::vector<std::string> found =
      topdown::find_kernels(topdown::kernel_names(suite), wanted, {"--kernel", "the suite"});
  return {found.begin(), found.end()};
}

int list(const SuiteCommand& command, const Output& output) {
  return list_suite(command.suite, output);
}

int show(const SuiteCommand& command, const Output& output) {
  return show_suite_kernel(command.suite, command.model, command.kernel, output);
}

std::string tests_text(const Suite& suite) {
  const auto groups = std::ssize(suite.groups);
  return counted(std::ssize(suite.calls), "test") + " for " +
         counted(std::ssize(suite.kernels), "kernel") +
         (groups > 0 ? ", " + counted(groups, "group") + " of kernels" : "");
}

int save(const Suite& suite, const std::string& folder, Progress& progress, const Output& output) {
  progress.begin("write " + folder);
  unwrap(topdown::save_suite(suite, folder, progress.watcher()));
  progress.end();
  say_what_is_missing(suite, output);
  int64_t dropped = 0;
  for (const SuiteKernel& kernel : suite.kernels) dropped += kernel.dropped;
  output.line(folder + ": " + tests_text(suite) + ", " +
              counted(std::ssize(suite.tensors), "tensor") +
              (dropped > 0 ? ", " + counted(dropped, "call") + " dropped" : ""));
  Json json = Json::object({{"suite", Json::string(folder)},
                            {"kernels", Json::integer(std::ssize(suite.kernels))},
                            {"calls", Json::integer(std::ssize(suite.calls))},
                            {"groups", Json::integer(std::ssize(suite.groups))},
                            {"tensors", Json::integer(std::ssize(suite.tensors))},
                            {"dropped", Json::integer(dropped)}});
  set_completeness(json, suite);
  output.document(json);
  return kDone;
}

int merge(const SuiteCommand& command, const Output& output) {
  Progress progress = patient(output);
  std::vector<Suite> suites;
  progress.begin("read", std::ssize(command.suites));
  for (const std::string& folder : command.suites) {
    progress.step(folder);
    suites.push_back(unwrap(topdown::load_suite(folder, command.model, progress.watcher())));
  }
  return save(topdown::merge(suites, command.suites), command.output, progress, output);
}

int prune(const SuiteCommand& command, const Output& output) {
  if (command.kernels.empty() && command.calls == 0 && command.budget.empty()) {
    throw_user("an option that selects the tests to keep is missing", "command line",
               "--kernel NAME, --calls N or --budget SIZE", "none of them");
  }
  const int64_t budget = command.budget.empty() ? 0 : parse_size(command.budget, "--budget");
  Progress progress = patient(output);
  progress.begin("read " + command.suite);
  Suite suite = unwrap(topdown::load_suite(command.suite, command.model, progress.watcher()));
  if (!command.kernels.empty()) {
    std::set<int32_t> wanted;
    for (const std::string& name : command.kernels) {
      for (const std::string& one : kernels_of(suite, name)) {
        wanted.insert(suite.find_kernel(one));
      }
    }
    topdown::keep_kernels(suite, wanted);
  }
  topdown::prune(suite, command.calls, budget);
  return save(suite, command.output.empty() ? command.suite : command.output, progress, output);
}

using Arrays = std::vector<std::pair<std::string, HostTensor>>;

HostTensor scalars_of(const SuiteCall& call) {
  return HostTensor::from<int64_t>(DType::kI64, {std::ssize(call.scalars)},
                                   std::span(call.scalars));
}

// Names begin with the index of the call in the group.
Arrays group_arrays(const Suite& suite, const SuiteGroup& group) {
  Arrays arrays;
  auto name = [&](const topdown::CallParameter& place) {
    const auto kernel = static_cast<size_t>(group.calls[place.call].kernel);
    return std::to_string(place.call) + "." + suite.kernels[kernel].params[place.param];
  };
  for (size_t c = 0; c < group.calls.size(); ++c) {
    const SuiteCall& call = group.calls[c];
    for (size_t i = 0; i < call.before.size(); ++i) {
      if (call.before[i].empty()) continue;
      arrays.emplace_back("before." + name({c, i}), suite.tensors.at(call.before[i]));
    }
    arrays.emplace_back("scalars." + std::to_string(c), scalars_of(call));
  }
  for (const topdown::GroupValue& value : group.inputs) {
    arrays.emplace_back("input." + name(value.place), suite.tensors.at(value.hash));
  }
  for (const topdown::GroupValue& value : group.outputs) {
    arrays.emplace_back("output." + name(value.place), suite.tensors.at(value.hash));
  }
  std::vector<int64_t> links;
  for (const auto& [from, to] : group.links) {
    for (size_t number : {from.call, from.param, to.call, to.param}) {
      links.push_back(static_cast<int64_t>(number));
    }
  }
  arrays.emplace_back("links", HostTensor::from<int64_t>(DType::kI64, {std::ssize(links) / 4, 4},
                                                         std::span(std::as_const(links))));
  return arrays;
}

// One archive per test, for NumPy and other readers.
int export_arrays(const SuiteCommand& command, const Output& output) {
  if (!command.npz) throw_user("a format is needed", "command line", "--npz", "none");
  Progress progress = patient(output);
  progress.begin("read " + command.suite);
  const Suite suite = unwrap(topdown::load_suite(command.suite, command.model, progress.watcher()));
  progress.end();
  std::set<std::string> wanted;
  if (!command.kernel.empty()) wanted = kernels_of(suite, command.kernel);
  unwrap(make_folder(command.output));
  say_what_is_missing(suite, output);
  progress.begin("write " + command.output, std::ssize(suite.calls) + std::ssize(suite.groups));
  std::vector<Json> files;
  auto write = [&](const std::string& name, const Arrays& arrays) {
    const std::string file = command.output + "/" + name + ".npz";
    unwrap(write_file_atomic(file, unwrap(topdown::write_npz(arrays))));
    files.push_back(Json::string(file));
  };
  for (const SuiteCall& call : suite.calls) {
    const SuiteKernel& kernel = suite.kernels[static_cast<size_t>(call.kernel)];
    progress.step(kernel.name);
    if (!wanted.empty() && !wanted.contains(kernel.name)) continue;
    Arrays arrays;
    for (size_t i = 0; i < kernel.params.size(); ++i) {
      const std::string& name = kernel.params[i];
      if (!call.before[i].empty()) {
        arrays.emplace_back("before." + name, suite.tensors.at(call.before[i]));
      }
      if (!call.after[i].empty()) {
        arrays.emplace_back("after." + name, suite.tensors.at(call.after[i]));
      }
    }
    arrays.emplace_back("scalars", scalars_of(call));
    write(kernel.name + "." + std::to_string(call.sequence), arrays);
  }
  for (size_t g = 0; g < suite.groups.size(); ++g) {
    const auto names = suite.kernels_of(suite.groups[g]);
    progress.step("group " + std::to_string(g));
    const bool part =
        std::ranges::any_of(names, [&](const std::string& name) { return wanted.contains(name); });
    if (!wanted.empty() && !part) continue;
    write("group." + std::to_string(g), group_arrays(suite, suite.groups[g]));
  }
  progress.end();
  output.line(command.output + ": " + counted(std::ssize(files), "file"));
  Json json = Json::object({{"files", Json::array(std::move(files))}});
  set_completeness(json, suite);
  output.document(json);
  return kDone;
}

int verify(const SuiteCommand& command, const Output& output) {
  for (const auto& [option, value] :
       {std::pair{"--quantize", command.format.quantize},
        std::pair{"--quantize-map", command.format.quantize_map},
        std::pair{"--activations", command.format.activations},
        std::pair{"--kv-cache", command.format.kv_cache},
        std::pair{"--accumulation", command.format.accumulation},
        std::pair{"--quantize-activations", command.format.quantize_activations},
        std::pair{"--patterns", command.patterns.file}}) {
    if (value.empty() || !command.model.empty()) continue;
    throw_user(std::string(option) + " goes with --model only", option, "--model DIR as well",
               value);
  }
  Progress progress = patient(output);
  progress.begin("verify");
  topdown::SuiteCheck check =
      unwrap(topdown::verify_suite(command.suite, command.model, progress.watcher()));
  if (!command.model.empty()) {
    progress.begin("read " + command.model);
    const std::string file = command.suite + "/suite.json";
    frontend::HuggingFaceModel model = frontend::read_model(
        command.model,
        find_quantization(command.format.quantization().empty() ? check.suite.quantization
                                                                : command.format.quantization()),
        app::precision_of(command.format), progress.watcher());
    command.patterns.apply(model.module);
    auto gone = topdown::kernels_gone(check.suite, pipeline::form_kernels(model.module), file);
    if (!gone) check.faults.push_back(gone.error());
    for (const std::string& name : gone ? *gone : std::vector<std::string>()) {
      check.faults.push_back(user_error("the model no longer has kernel " + name, file,
                                        "a kernel of " + command.model, "none of that name",
                                        "carve the suite again, or prune it; of a model that was "
                                        "quantized or matched by patterns, give --quantize and "
                                        "--patterns as when it was carved"));
    }
  }
  progress.end();
  const Suite& suite = check.suite;
  say_what_is_missing(suite, output);
  std::vector<Json> faults;
  for (const Error& fault : check.faults) {
    output.line("fault: " + fault.to_string());
    faults.push_back(error_json(fault));
  }
  if (check.faults.empty()) {
    output.line(command.suite + ": " + tests_text(suite) + ", " + counted(check.tensors, "tensor") +
                " and " + counted(std::ssize(suite.weights), "weight") + " by reference as carved");
  }
  const topdown::VerdictLine verdict = topdown::verdict_line(check);
  Json json = Json::object({{"verdict", Json::string(topdown::verdict_word(verdict.verdict))},
                            {"faults", Json::array(std::move(faults))},
                            {"kernels", Json::integer(std::ssize(suite.kernels))},
                            {"calls", Json::integer(std::ssize(suite.calls))},
                            {"groups", Json::integer(std::ssize(suite.groups))},
                            {"tensors", Json::integer(check.tensors)},
                            {"bytes", Json::integer(check.bytes)},
                            {"weights", Json::integer(std::ssize(suite.weights))}});
  set_completeness(json, suite);
  output.document(json);
  output.last_line(verdict.text());
  return verdict.passed() ? kDone : kDifference;
}

using Work = int (*)(const SuiteCommand& command, const Output& output);

CLI::App& add(CLI::App& suite, const Registration& registration, const char* name, const char* doc,
              const char* example, const std::shared_ptr<SuiteCommand>& command, Work work) {
  CLI::App* app = suite.add_subcommand(name, doc);
  app->footer(std::string("Example: tapml suite ") + example);
  set_runner(*app, registration, command, work);
  return *app;
}

void add_suite_option(CLI::App& app, SuiteCommand& command) {
  app.add_option("suite", command.suite, "Folder of the suite")->required();
}

void add_model_option(CLI::App& app, SuiteCommand& command, const char* doc) {
  app.add_option("--model", command.model, doc);
}

constexpr const char* kWeightsAt = "Model directory of weights by reference that have moved";

}  // namespace

void add_suite(Registration registration) {
  auto* suite =
      registration.app.add_subcommand("suite", "Inspect or change suites of carved tests");
  suite->require_subcommand(1);
  auto command = std::make_shared<SuiteCommand>();

  CLI::App& ls = add(*suite, registration, "ls", "List the kernels and groups of a suite",
                     "ls out/suite", command, list);
  add_suite_option(ls, *command);

  CLI::App& shown = add(*suite, registration, "show", "Show a kernel's specification and its tests",
                        "show out/suite rms_norm_485247dc", command, show);
  add_suite_option(shown, *command);
  shown
      .add_option("kernel", command->kernel,
                  "Kernel: its name, the beginning of it, or a pattern with * and ?")
      ->required();
  add_model_option(shown, *command, kWeightsAt);

  CLI::App& merged = add(*suite, registration, "merge", "Merge suites of one model into one",
                         "merge out/a out/b -o out/both", command, merge);
  merged.add_option("suites", command->suites, "Folders of the suites")->required();
  merged.add_option("-o,--output", command->output, "Folder of the new suite")->required();
  add_model_option(merged, *command, kWeightsAt);

  CLI::App& pruned = add(*suite, registration, "prune", "Keep a part of a suite",
                         "prune out/suite --budget 100MB", command, prune);
  add_suite_option(pruned, *command);
  pruned.add_option("-o,--output", command->output, "Folder of the new suite")
      ->default_str("the suite itself");
  pruned
      .add_option(
          "--kernel", command->kernels,
          "Kernels to keep: a name, the beginning of names, or a pattern with * and ? (repeatable)")
      ->allow_extra_args(false);
  pruned
      .add_option("--calls", command->calls,
                  "Most tests to keep for each kernel and each set of sizes (0: all)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40));
  pruned.add_option("--budget", command->budget,
                    "Largest size of the tensors, such as 2GB, for the tests that differ most");
  add_model_option(pruned, *command, kWeightsAt);

  CLI::App& exported =
      add(*suite, registration, "export", "Export the tensors of tests for other programs",
          "export out/suite --npz -o out/arrays", command, export_arrays);
  add_suite_option(exported, *command);
  exported.add_flag("--npz", command->npz, "Write an archive of NumPy arrays for each test");
  exported.add_option("-o,--output", command->output, "Folder for the files")->required();
  exported.add_option(
      "--kernel", command->kernel,
      "Kernels to export: a name, the beginning of names, or a pattern with * and ?");
  add_model_option(exported, *command, kWeightsAt);

  CLI::App& verified = add(*suite, registration, "verify", "Check the hash of each tensor",
                           "verify out/suite --model models/demo", command, verify);
  add_suite_option(verified, *command);
  add_model_option(verified, *command,
                   "Model directory to compare kernels and weights by reference with");
  add_options(verified, command->patterns);
  add_options(verified, command->format);
}

}  // namespace tapml::cli
