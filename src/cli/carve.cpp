// tapml carve: a run, a test for every kernel call.
#include "topdown/suite/carve.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <set>
#include <sstream>

#include "abi/platforms.h"
#include "app/executable.h"
#include "app/model.h"
#include "app/platforms.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/check_output.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/sizes.h"
#include "cli/suite_completeness.h"
#include "io/host/files.h"
#include "io/host/mapped_ranges.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "llm/engine.h"
#include "passes/weights.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "relax/expr.h"
#include "text/parser.h"
#include "topdown/replay/edge_cases.h"
#include "topdown/results/result_json.h"
#include "topdown/suite/coverage.h"

namespace tapml::cli {

namespace {

struct CarveCommand {
  ModelOptions model;
  std::vector<std::string> prompts, inputs;
  std::string prompts_file, function, folder, budget, weights = "inside";
  int64_t max_tokens = 4;
  int64_t decode = -1;  // --max-tokens says it
  int64_t batch = 1;    // texts that run at once
  int64_t calls = 0;
  llm::SamplerOptions sampler;
  bool edge = false;
};

// What ran, for edge cases.
struct Source {
  target::Target target;
  std::shared_ptr<const Executable> executable;
  // Opens sessions in a process of their own, where some kernels need one; else empty.
  std::function<std::unique_ptr<runtime::Session>()> open_contained;
};

struct Prompt {
  std::string text, where;
};

std::vector<Prompt> prompts_of(const CarveCommand& command) {
  std::vector<Prompt> prompts;
  for (const std::string& text : command.prompts) prompts.push_back({text, "--prompt"});
  if (!command.prompts_file.empty()) {
    std::istringstream lines(unwrap(read_text_file(command.prompts_file)));
    std::string line;
    for (int64_t number = 1; std::getline(lines, line); ++number) {
      if (line.ends_with('\r')) line.pop_back();
      if (line.find_first_not_of(" \t") == std::string::npos) continue;
      prompts.push_back({line, command.prompts_file + ":" + std::to_string(number)});
    }
    if (prompts.empty()) {
      throw_user("the file has no prompts", command.prompts_file, "one a line", "none");
    }
  }
  if (prompts.empty()) {
    throw_user("a model is carved while it continues a text", "command line",
               "--prompt TEXT or --prompts FILE", "neither");
  }
  return prompts;
}

std::vector<int32_t> encode(const Tokenizer& tokenizer, int64_t context, const Prompt& prompt) {
  auto tokens = guard([&] { return encode_prompt(tokenizer, context, prompt.text); });
  if (tokens) return *tokens;
  Error error = tokens.error();
  error.where = prompt.where;
  throw_error(std::move(error));
}

topdown::CarveOptions carve_options(const CarveCommand& command) {
  topdown::CarveOptions options;
  options.calls_per_kernel = command.calls;
  if (!command.budget.empty()) {
    options.budget_bytes = parse_size(command.budget, "--budget");
    if (options.budget_bytes == 0) throw_user("a budget of nothing", "--budget", "1 or more", "0");
  }
  return options;
}

// The runs to carve, each a step after which the folder is a suite.
using Run = std::function<Status()>;

// Adds edge cases to the suite in the folder, computed by what it was carved from.
topdown::EdgeCases add_edge_cases(const CarveCommand& command, const Source& source,
                                  runtime::Session& session, Progress& progress) {
  progress.begin("edge cases");
  topdown::Suite suite = unwrap(topdown::load_suite(command.folder, "", progress.watcher()));
  topdown::Platform platform{source.target, &session};
  platform.open = source.open_contained;
  topdown::Sandbox sandbox(std::move(platform), interrupted);
  sandbox.load(source.executable);
  topdown::EdgeCases cases = topdown::add_edge_cases(
      suite, sandbox, [] { unwrap(check_interrupted()); }, progress.watcher());
  suite.incomplete.clear();
  unwrap(topdown::save_suite(suite, command.folder));
  return cases;
}

Json edge_json(const topdown::EdgeCases& cases) {
  std::vector<Json> left_out;
  for (const std::string& text : cases.left_out) left_out.push_back(Json::string(text));
  return Json::object(
      {{"added", Json::integer(cases.added)}, {"left_out", Json::array(std::move(left_out))}});
}

// Empty: the runs came to their end.
std::string why_incomplete(const Status& status, bool nan) {
  if (interrupted()) return "interrupted";
  if (status) return "";
  return nan ? "NaN in the source's run" : status.error().message;
}

// Carves the runs into the folder, and says what came out.
int carve(runtime::Machine& machine, const Source& source, const CarveCommand& command,
          topdown::CarveOptions options, const std::vector<Run>& runs, Progress& progress,
          const Output& output) {
  auto folder = unwrap(topdown::SuiteFolder::open(command.folder));
  options.folder = &folder;
  const std::string unfinished = "the carve did not end";
  progress.begin("carve", static_cast<int64_t>(runs.size()));
  topdown::Carver carver(machine.executable(), options);
  unwrap(folder.begin(carver.so_far(unfinished)));
  unwrap(machine.set_capture(carver.plan(), &carver));
  machine.set_interrupt(&interrupt_flag());
  machine.set_call_limit(command.model.step_limit);
  Status status;
  size_t indexed = 0;  // calls in the last suite.json
  for (const Run& run : runs) {
    progress.step("run");
    status = run();
    if (!status || interrupted()) break;
    // What is there already survives a kill; the list is written again when it is worth it.
    const size_t calls = carver.suite().calls.size();
    if (calls < indexed + indexed / 4) continue;
    unwrap(folder.write_index(carver.so_far(unfinished)));
    indexed = calls;
  }
  const Status ended = machine.set_capture({}, nullptr);
  if (status) unwrap(ended);
  const bool wrong = carver.nan().has_value();
  // What was carved before an interruption or a fault is a valid suite, too, and says that it is
  // not all.
  std::string incomplete = why_incomplete(status, wrong);
  if (incomplete.empty() && command.edge) incomplete = "edge cases were not added";
  if (Status files = check_mapped_files(); !files) incomplete = files.error().message;
  topdown::Suite suite = carver.take(incomplete);
  unwrap(folder.finish(suite));
  // Nothing can be sampled of NaN: that is how such a run ends.
  if (!status && !interrupted() && !wrong) {
    log_warning(command.folder + " has a part of the suite only");
    throw_error(status.error());
  }
  int64_t dropped = 0;
  for (const topdown::SuiteKernel& kernel : suite.kernels) dropped += kernel.dropped;
  progress.end(std::to_string(suite.calls.size()) + " calls of " +
               std::to_string(suite.kernels.size()) + " kernels");
  for (size_t k = 0; k < suite.kernels.size() && !command.budget.empty(); ++k) {
    const topdown::SuiteKernel& kernel = suite.kernels[k];
    if (kernel.dropped == 0) continue;
    int64_t kept = 0;
    for (const topdown::SuiteCall& call : suite.calls) {
      if (call.kernel == static_cast<int32_t>(k)) kept += call.times;
    }
    output.line("dropped " + std::to_string(kernel.dropped) + " of " +
                std::to_string(kernel.dropped + kept) + " calls of " + kernel.name);
  }
  if (options.budget_bytes > 0 && carver.bytes() > options.budget_bytes) {
    log_warning("one call of every kernel takes " + size_text(carver.bytes()) +
                ", which is more than --budget");
  }
  output.line(command.folder + ": " + std::to_string(suite.calls.size()) + " tests for " +
              std::to_string(suite.kernels.size()) + " kernels, " + size_text(carver.bytes()) +
              (dropped > 0 ? ", " + std::to_string(dropped) + " calls dropped" : ""));
  topdown::EdgeCases edge;
  if (command.edge && !wrong && !interrupted()) {
    edge = add_edge_cases(command, source, machine.session(), progress);
    progress.end(std::to_string(edge.added) + " edge cases");
    output.line(std::to_string(edge.added) + " edge cases added");
    for (const std::string& text : edge.left_out) output.line("left out: " + text);
  }
  if (wrong) output.line(topdown::source_nan_text(*carver.nan()));
  if (command.edge && !wrong && !interrupted()) suite.incomplete.clear();  // they are there now
  say_what_is_missing(suite, output);
  Json json = Json::object({{"suite", Json::string(command.folder)},
                            {"kernels", Json::integer(static_cast<int64_t>(suite.kernels.size()))},
                            {"calls", Json::integer(static_cast<int64_t>(suite.calls.size()))},
                            {"tensors", Json::integer(carver.tensors())},
                            {"bytes", Json::integer(carver.bytes())},
                            {"weights", Json::integer(static_cast<int64_t>(suite.weights.size()))},
                            {"dropped", Json::integer(dropped)},
                            {"edge", edge_json(edge)},
                            {"nan", topdown::source_nan_json(carver.nan())}});
  set_completeness(json, suite);
  output.document(json);
  if (interrupted()) return kInterrupted;
  return wrong ? kDifference : kDone;
}

std::function<std::unique_ptr<runtime::Session>()> opener(
    const CarveCommand& command, const target::Target& target,
    const std::unique_ptr<ContainedKernels>& contained) {
  if (!contained) return {};
  return worker_opener(target, command.model.libraries, command.model.remote,
                       command.model.isolation);
}

void refuse(bool given, const char* option, const std::string& with, const std::string& model) {
  if (given) throw_user(std::string(option) + " goes with " + with + " only", option, with, model);
}

int carve_model(CarveCommand command, const Output& output) {
  refuse(!command.inputs.empty(), "--inputs", "a text module", command.model.model);
  refuse(!command.function.empty(), "--function", "a text module", command.model.model);
  unwrap(llm::check_sampler_options(command.sampler));
  check_future_folder(command.folder);
  topdown::CarveOptions options = carve_options(command);
  const std::vector<Prompt> texts = prompts_of(command);
  if (command.weights == "reference" && is_compiled(command.model.model)) {
    throw_user("weights by reference are found in a model directory", "--weights",
               "a model directory as MODEL", command.model.model,
               "--weights inside, or carve the model directory");
  }
  Progress progress = Progress::to_stderr(output.json);
  progress.begin("load", 0, Progress::kPatience);
  command.model.watcher = progress.watcher();
  std::vector<std::vector<int32_t>> prompts;
  ReadyModel model =
      make_ready(command.model, [&](const Tokenizer& tokenizer, const ModelInterface& interface) {
        for (const Prompt& text : texts) {
          prompts.push_back(encode(tokenizer, interface.context, text));
        }
        progress.begin("compile");
      });
  if (command.weights == "reference") {
    options.weights = &model.weights;
    options.model_folder =
        std::filesystem::absolute(command.model.model).lexically_normal().string();
    options.quantization = command.model.quantize;
  }
  if (has_own_process(model.target)) options.held = &model.weights;
  options.functions = topdown::generation_functions(*model.executable, command.sampler.temperature,
                                                    model.session->info());
  auto engine = unwrap(
      llm::Engine::create(unwrap(runtime::open_instrumented(*model.session, model.executable)),
                          model.weights, {.weights_in_place = true, .sample_on_machine = true}));
  engine->set_watcher(progress.watcher());
  llm::GenerateOptions generate;
  generate.max_tokens = command.decode >= 0 ? command.decode + 1 : command.max_tokens;
  generate.eos = model.eos;
  generate.sampler = command.sampler;
  generate.on_token = [](int32_t) { return !interrupted(); };
  std::vector<Run> runs;
  const auto batch = static_cast<size_t>(command.batch);
  for (size_t first = 0; first < prompts.size(); first += batch) {
    const auto some = std::span(prompts).subspan(first, std::min(batch, prompts.size() - first));
    runs.emplace_back([&engine, &generate, some]() -> Status {
      // What an earlier run left in the pools is no part of this one's tests.
      TAPML_TRY(engine->clear());
      TAPML_ASSIGN([[maybe_unused]] auto texts, engine->generate_batch(some, generate));
      return {};
    });
  }
  model.attach(engine->machine());
  return carve(engine->machine(),
               {model.target, model.executable, opener(command, model.target, model.contained)},
               command, std::move(options), runs, progress, output);
}

// A function's arguments from one file, by the names of its parameters.
std::vector<HostTensor> read_arguments(const std::vector<std::string>& parameters,
                                       const SafetensorsFile& file, const std::string& function,
                                       const std::string& path) {
  std::string wanted, found;
  for (const std::string& name : parameters) wanted += (wanted.empty() ? "" : ", ") + name;
  for (const auto& [name, tensor] : file.tensors) found += (found.empty() ? "" : ", ") + name;
  std::vector<HostTensor> arguments;
  for (const std::string& name : parameters) {
    auto tensor = file.tensors.find(name);
    if (tensor == file.tensors.end()) {
      throw_user("the inputs lack parameter " + name + " of " + function, path, wanted, found);
    }
    arguments.push_back(tensor->second);
  }
  return arguments;
}

// What one run of a module's function is given.
struct ModuleInputs {
  std::vector<HostTensor> arguments;  // as the text says them
  std::vector<HostTensor> weights;    // of `prepare`; empty where there is none
};

// `parameters` are the function's as the text has them; the executable's come with what `prepare`
// computes from weights at load.
ModuleInputs read_inputs(const Executable& executable, const std::string& function,
                         const std::vector<std::string>& parameters, const std::string& path) {
  MappedFile mapped = unwrap(map_file(path));
  SafetensorsFile file = unwrap(parse_safetensors(mapped.bytes, mapped.owner, path));
  ModuleInputs inputs;
  inputs.arguments = read_arguments(parameters, file, function, path);
  std::set<std::string> known(parameters.begin(), parameters.end());
  if (const VmFunction* prepare = executable.find_function(passes::kPrepareFunction)) {
    inputs.weights = read_arguments(prepare->params, file, prepare->name, path);
    known.insert(prepare->params.begin(), prepare->params.end());
  }
  for (const auto& [name, tensor] : file.tensors) {
    if (known.contains(name)) continue;
    std::string wanted;
    for (const std::string& one : known) wanted += (wanted.empty() ? "" : ", ") + one;
    throw_user("the inputs have a tensor that is no parameter of " + function, path, wanted, name);
  }
  return inputs;
}

Result<std::vector<runtime::Value>> upload_all(runtime::Session& session,
                                               const std::vector<HostTensor>& tensors) {
  std::vector<runtime::Value> values;
  for (const HostTensor& tensor : tensors) {
    TAPML_ASSIGN(runtime::Tensor uploaded, runtime::upload(session, tensor));
    values.emplace_back(std::move(uploaded));
  }
  return values;
}

// What `prepare` makes of the weights: the arguments behind those that the text has.
std::vector<runtime::Value> prepared_values(runtime::Machine& machine,
                                            const std::vector<HostTensor>& weights) {
  if (!machine.executable().find_function(passes::kPrepareFunction)) return {};
  const runtime::Value made = unwrap(
      machine.call(passes::kPrepareFunction, unwrap(upload_all(machine.session(), weights))));
  const runtime::ValueList* fields = made.tuple();
  if (!fields) throw_internal("prepare returned something else than a tuple");
  return {fields->begin(), fields->end()};
}

const VmFunction& find_function(const Executable& executable, const Module& module,
                                const CarveCommand& command) {
  std::vector<std::string> names;
  for (const auto& [name, function] : module.functions) {
    if (function->level == FunctionLevel::kRelax) names.push_back(name);
  }
  const std::string name = !command.function.empty() ? command.function
                           : names.size() == 1       ? names[0]
                                                     : "main";
  const VmFunction* function = std::find(names.begin(), names.end(), name) == names.end()
                                   ? nullptr
                                   : executable.find_function(name);
  if (function) return *function;
  std::string known;
  for (const std::string& one : names) known += (known.empty() ? "" : ", ") + one;
  throw_user("the module has no such function to carve", "--function", "one of " + known, name);
}

int carve_module(const CarveCommand& command, const Output& output) {
  const std::string& path = command.model.model;
  const std::string model = "a model directory";
  refuse(!command.prompts.empty(), "--prompt", model, path);
  refuse(!command.prompts_file.empty(), "--prompts", model, path);
  refuse(!command.model.folder.empty(), "--model", "an executable", path);
  refuse(command.weights != "inside", "--weights", model, path);
  refuse(command.decode >= 0, "--decode", model, path);
  refuse(command.batch > 1, "--batch", model, path);
  refuse(command.sampler.temperature != 0, "--temperature", model, path);
  check_future_folder(command.folder);
  topdown::CarveOptions options = carve_options(command);
  if (command.inputs.empty()) {
    throw_user("a module is carved while its function runs", "command line",
               "--inputs FILE.safetensors", "none");
  }
  Progress progress = Progress::to_stderr(output.json);
  text::SourceMap places;
  Module module = pipeline::normal_input(
      text::parse(unwrap(read_text_file(path)), path, {.places = &places}), path, &places);
  progress.begin("compile");
  target::Target target = target::parse_target(command.model.target.value_or(kDefaultPlatform));
  const device::HostLibraries libraries = command.model.libraries.load();
  check_routine_calls(module, libraries, places);
  auto session = open_session(target, command.model.cache, libraries, command.model.remote);
  command.model.patterns.apply(module);
  CompileCache cache(command.model.cache);
  pipeline::ImplementOptions implement;
  implement.cache = cache.kernels();
  implement.libraries = library_options(libraries, command.model.patterns);
  implement.instruments.poll = [] { unwrap(check_interrupted()); };
  implement.instruments.watcher = progress.watcher();
  auto executable = pipeline::compile(module, target, implement);
  const auto contained = ContainedKernels::open(executable, target, command.model.libraries,
                                                command.model.remote, command.model.isolation);
  const VmFunction& function = find_function(*executable, module, command);
  std::vector<std::string> parameters;
  for (const relax::Variable& param :
       relax::as_relax_function(module.find(function.name))->params) {
    parameters.push_back(param->name);
  }
  std::vector<ModuleInputs> inputs;
  for (const std::string& file : command.inputs) {
    inputs.push_back(read_inputs(*executable, function.name, parameters, file));
  }
  options.functions = {function.name};
  auto machine = unwrap(runtime::open_instrumented(*session, executable));
  if (contained) contained->attach(*machine);
  std::vector<std::vector<runtime::Value>> prepared;
  for (const ModuleInputs& one : inputs) {
    prepared.push_back(prepared_values(*machine, one.weights));
  }
  std::vector<Run> runs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    runs.emplace_back([&, i]() -> Status {
      TAPML_ASSIGN(std::vector<runtime::Value> args, upload_all(*session, inputs[i].arguments));
      args.insert(args.end(), prepared[i].begin(), prepared[i].end());
      TAPML_ASSIGN([[maybe_unused]] auto result, machine->call(function.name, args));
      return {};
    });
  }
  return carve(*machine, {target, executable, opener(command, target, contained)}, command,
               std::move(options), runs, progress, output);
}

int run(const CarveCommand& command, const Output& output) {
  const std::string& model = command.model.model;
  std::error_code ignored;
  const bool is_text =
      std::filesystem::is_regular_file(model, ignored) && !is_executable_file(model);
  return is_text ? carve_module(command, output) : carve_model(command, output);
}

}  // namespace

void add_carve(Registration registration) {
  auto* app =
      registration.app.add_subcommand("carve", "Carve runs into tests of their kernel calls");
  app->footer("Example: tapml carve models/demo --prompt \"And God said\" -o out/suite");
  auto command = std::make_shared<CarveCommand>();
  add_options(*app, command->model);
  app->get_option("model")->description(
      "Hugging Face model directory, executable, package or text module");
  app->add_option("--prompt", command->prompts, "Text to run (repeatable)")
      ->allow_extra_args(false);
  app->add_option("--prompts", command->prompts_file, "File of texts to run, one per line");
  app->add_option("-o,--output", command->folder, "Folder of the suite")->required();
  auto* tokens =
      app->add_option("--max-tokens", command->max_tokens, "Tokens to generate after each text")
          ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
          ->capture_default_str();
  app->add_option("--decode", command->decode, "Decode steps to carve after each text")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 31))
      ->excludes(tokens);
  app->add_option("--batch", command->batch, "Texts to run at once, as one batch")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  add_options(*app, command->sampler);
  app->add_flag("--edge", command->edge, "Add edge cases: extreme values and odd sizes");
  app->add_option("--calls", command->calls,
                  "Most calls to keep for each kernel and each set of sizes (0: all)")
      ->check(CLI::Range(int64_t{0}, int64_t{1} << 40))
      ->capture_default_str();
  app->add_option("--budget", command->budget,
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
  app->get_option("--target")->description("Trusted platform: kind[:key=value,...][@endpoint]");
  app->add_flag("--json", registration.output.json, "Print one JSON document on standard output");
  app->callback([command, registration] {
    registration.selected = [command, registration] { return run(*command, registration.output); };
  });
}

}  // namespace tapml::cli
