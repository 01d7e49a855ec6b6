// tapml compile: compiles a model or a text module, reports on the result and writes it as a file.
#include "pipeline/compile.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "abi/platforms.h"
#include "app/cache.h"
#include "app/cached_compile.h"
#include "app/executable.h"
#include "app/libraries.h"
#include "app/model.h"
#include "app/patterns.h"
#include "app/variables.h"
#include "base/clock.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/log.h"
#include "base/units.h"
#include "cli/check_output.h"
#include "cli/command.h"
#include "cli/dumps.h"
#include "cli/memory.h"
#include "cli/options.h"
#include "cli/phases.h"
#include "cli/shapes.h"
#include "frontend/gguf/model.h"
#include "frontend/huggingface/foreign.h"
#include "frontend/huggingface/model.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "llm/package.h"
#include "pipeline/check_input.h"
#include "text/parser.h"
#include "text/printer.h"

namespace tapml::cli {

namespace {

struct CompileOptions {
  std::string model, config, target = kDefaultPlatform, file, package;
  std::string bounds, memory, memory_limit, phases;
  std::vector<std::string> skip;
  bool times = false, verify = false, print_memory = false;
  CacheOptions cache;
  PatternOptions patterns;
  app::ModelFormat format;
  LibraryFiles libraries;
  ShapeOptions shapes;
  DumpOptions dumps;
};

// A Module, the location of its weights and, for a package, the other parts of the model.
struct Input {
  Module module;
  ModelSource source;
  frontend::HuggingFaceModel model;
  bool is_text = false;  // not a model
};

Input from_model(const frontend::HuggingFaceModel& model, const std::string& folder, bool keep) {
  for (const std::string& warning : model.warnings) log_warning(warning);
  return {model.module, keep ? source_of(model, folder) : ModelSource{}, {}};
}

// A package needs a tokenizer: a folder without one is rejected before the model is compiled.
Input from_folder(const CompileOptions& options, const models::QuantizationRef& quantization,
                  const WorkWatcher& watcher) {
  frontend::HuggingFaceModel model =
      frontend::read_model(options.model, quantization, app::precision_of(options.format), watcher,
                           app::pooling_of(options.format));
  if (!options.package.empty()) load_tokenizer(model.folder);
  Input input = from_model(model, options.model, !options.file.empty());
  input.model = std::move(model);
  return input;
}

// A GGUF file has its tokenizer inside; a folder's files are copied.
std::map<std::string, std::string> tokenizer_files(const std::string& folder) {
  if (!frontend::is_gguf_model(folder)) return {};
  frontend::GgufTokenizer texts = frontend::open_gguf_tokenizer(folder);
  return {{"tokenizer.json", std::move(texts.tokenizer)},
          {"tokenizer_config.json", std::move(texts.config)}};
}

// For modules without weights.
void refuse_package(const CompileOptions& options) {
  std::error_code ignored;
  if (options.package.empty() || std::filesystem::is_directory(options.model, ignored) ||
      frontend::is_gguf_model(options.model)) {
    return;
  }
  throw_user("--package goes with a model directory only", "--package",
             "a model directory as MODEL", options.config.empty() ? options.model : options.config,
             "-o writes the executable alone");
}

Input read_input(const CompileOptions& options, const device::HostLibraries& libraries,
                 const WorkWatcher& watcher) {
  const bool keep = !options.file.empty();
  if (options.model.empty() == options.config.empty()) {
    throw_user("one input is needed", "command line", "MODEL or --config config.json",
               options.model.empty() ? "neither" : "both");
  }
  const models::QuantizationRef quantization = find_quantization(options.format.quantization());
  const models::Precision precision = app::precision_of(options.format);
  const frontend::PoolingChoice pooling = app::pooling_of(options.format);
  refuse_package(options);
  if (!options.config.empty()) {
    return from_model(frontend::read_config(options.config, quantization, precision, pooling), "",
                      keep);
  }
  std::error_code ignored;
  if (std::filesystem::is_directory(options.model, ignored) ||
      frontend::is_gguf_model(options.model)) {
    return from_folder(options, quantization, watcher);
  }
  if (precision.activations || precision.cache || precision.accumulation ||
      precision.requires_quantized_inputs) {
    throw_user(
        "--activations, --kv-cache, --accumulation and --quantize-activations go with a model "
        "directory or a configuration only",
        "command line", "a model directory as MODEL, or --config", options.model,
        "the operators of a text module have their dtypes");
  }
  if (pooling.given()) {
    throw_user("--pooling and --normalize go with a model directory or a configuration only",
               "command line", "a model directory as MODEL, or --config", options.model);
  }
  if (quantization) {
    throw_user("--quantize goes with a model directory or a configuration only", "--quantize",
               "a model directory as MODEL, or --config", options.model,
               "a text module is quantized by its operator dequantize");
  }
  frontend::refuse_foreign_file(options.model);
  text::SourceMap places;
  Module module = pipeline::normal_input(
      text::parse(unwrap(read_text_file(options.model)), options.model, {.places = &places}),
      options.model, &places);
  check_routine_calls(module, libraries, places);
  bool any = false;
  for (const auto& [name, function] : module.functions) {
    any |= function->level == FunctionLevel::kRelax;
  }
  if (!any) throw_user("the module has no graph-level function to compile", options.model, "def");
  return {std::move(module), {}, {}, true};
}

// Whether an executable that was made before tells all that is asked for. It does not tell which
// bounds of a text module are good for nothing.
bool is_plain(const CompileOptions& options, const Input& input) {
  return !(input.is_text && !input.module.facts.bounds.empty()) && options.bounds.empty() &&
         options.memory.empty() && !options.print_memory && options.memory_limit.empty() &&
         options.phases.empty() && options.skip.empty() && !options.times && !options.verify &&
         !options.dumps.on();
}

// Size of the file in bytes.
size_t write(const ExecutableFile& file, const std::string& path) {
  std::vector<std::byte> bytes = unwrap(write_executable(file));
  unwrap(write_file_atomic(path, bytes));
  return bytes.size();
}

int run(CompileOptions options, const Output& output) {
  target::Target target = target::parse_target(options.target);
  options.format.multiplies_bytes = target::multiplies_bytes(target.description);
  const auto bounds = parse_assignments(options.bounds, "--bound");
  const auto given = parse_assignments(options.memory, "--memory");
  for (const auto& [name, value] : given) {
    const auto most = bounds.find(name);
    if (most == bounds.end() || value <= most->second) continue;
    throw_user("--memory asks for a value of " + name + " that --bound excludes", "--memory",
               "at most " + std::to_string(most->second), std::to_string(value));
  }
  auto values = given;
  values.insert(bounds.begin(), bounds.end());
  const bool limited = !options.memory_limit.empty();
  const int64_t limit = limited ? parse_size(options.memory_limit, "--memory-limit") : 0;
  if (!options.file.empty()) unwrap(check_writable(options.file));
  if (!options.package.empty()) check_package_folder(options.package);
  if (!options.phases.empty()) unwrap(check_writable(options.phases));
  Progress progress = Progress::to_stderr(output.json);
  progress.begin("read");
  const device::HostLibraries libraries = options.libraries.load();
  Input input = read_input(options, libraries, progress.watcher());
  options.patterns.apply(input.module);
  const Module source = input.module;
  // Checked before shapes are given, which must keep them.
  add_bounds(bounds, input.module);
  input.module = options.shapes.apply(input.module);
  std::vector<std::pair<std::string, double>> times;
  std::vector<pipeline::PassNumbers> phases;
  CompileCache cache(options.cache);
  pipeline::ImplementOptions implement;
  implement.instruments.verify = options.verify;
  implement.instruments.times = &times;
  implement.instruments.poll = [] { unwrap(check_interrupted()); };
  implement.instruments.watcher = progress.watcher();
  Dumps dumps(options.dumps, output);
  dumps.attach(implement.instruments);
  implement.cache = cache.kernels();
  pipeline::leave_out(options.skip, "--skip-pass", implement);
  if (!options.phases.empty()) {
    phases.push_back(pipeline::count_pass("read", input.module, values));
    implement.instruments.after = [&](const std::string& pass, const Module& module) {
      phases.push_back(pipeline::count_pass(pass, module, values));
    };
  }
  implement.libraries = library_options(libraries, options.patterns);
  // The file may run on computers with fewer features than this one.
  if (!options.file.empty() || !options.package.empty()) implement.libraries.is_installed = nullptr;
  progress.begin("compile for " + options.target);
  const double begun = seconds_now();
  app::CompiledModule compiled;
  passes::MemoryReport memory;
  if (is_plain(options, input)) {
    compiled = app::compile_with_cache(input.module, target, implement, cache);
    unwrap(check_interrupted());
  } else {
    Module fixed = pipeline::form_kernels(input.module, implement.instruments);
    Module planned;
    implement.planned = &planned;
    implement.omitted_functions = &compiled.omitted_functions;
    const size_t fixed_phases = phases.size();
    compiled.executable = pipeline::implement(fixed, target, implement);
    compiled.fixed = text::print(fixed);
    unwrap(check_interrupted());
    check_variables(bounds, "--bound", source, planned);
    check_variables(given, "--memory", source, planned);
    warn_of_unused_bounds(source, planned, options.model);
    if (options.print_memory || limited) memory = passes::memory_report(planned);
    check_amounts(memory, values);
    if (limited && most_needed(memory, values) > limit) {
      // A different order of the calls may need less.
      const std::vector<pipeline::PassNumbers> unordered_phases = phases;
      phases.resize(fixed_phases);
      implement.memory.order_for = values;
      auto ordered = pipeline::implement(fixed, target, implement);
      passes::MemoryReport needs = passes::memory_report(planned);
      if (most_needed(needs, values) < most_needed(memory, values)) {
        compiled.executable = std::move(ordered);
        memory = std::move(needs);
      } else {
        phases = unordered_phases;
      }
    }
  }
  const double total = seconds_now() - begun;
  const std::shared_ptr<const Executable>& executable = compiled.executable;
  if (limited) check_memory_limit(memory, values, limit);
  if (!options.phases.empty()) {
    unwrap(write_text_atomic(options.phases, phases_json(phases, values).dump(1) + "\n"));
  }
  int64_t package_bytes = 0;
  if (!options.package.empty()) {
    progress.begin("write " + options.package);
    package_bytes = unwrap(llm::write_package(
        options.package,
        {executable_file(*executable, target, compiled.fixed, {}), input.model.weights,
         input.model.eos, input.model.folder, tokenizer_files(input.model.folder)}));
  }
  size_t file_bytes = 0;
  if (!options.file.empty()) {
    progress.begin("write " + options.file);
    file_bytes =
        write(executable_file(*executable, target, compiled.fixed, std::move(input.source)),
              options.file);
  }
  progress.end();
  size_t code = 0;
  for (const ModuleBlob& blob : executable->modules) code += blob.bytes.size();
  std::vector<Json> kernels, passes;
  for (const Implementation& one : executable->implementations) {
    kernels.push_back(Json::object(
        {{"name", Json::string(executable->kernels[static_cast<size_t>(one.kernel)].name)},
         {"implementation", Json::string(one.provider)},
         {"launches", Json::integer(static_cast<int64_t>(one.launches.size()))}}));
    output.line(executable->kernels[static_cast<size_t>(one.kernel)].name + "  " + one.provider +
                "  " + std::to_string(one.launches.size()) + " launches");
  }
  if (options.times) {
    for (const auto& [name, seconds] : times) {
      char line[96];
      std::snprintf(line, sizeof line, "%-20s %8.3f s", name.c_str(), seconds);
      output.line(line);
      passes.push_back(
          Json::object({{"pass", Json::string(name)}, {"seconds", Json::number(seconds)}}));
    }
  }
  std::vector<Json> missing;
  for (const pipeline::OmittedFunction& one : compiled.omitted_functions) {
    missing.push_back(Json::object(
        {{"function", Json::string(one.function)}, {"reason", Json::string(one.reason)}}));
    output.line("without function " + one.function + ": " + one.reason);
  }
  Json needs;
  if (options.print_memory) needs = print_memory(memory, values, output);
  const int64_t cached =
      compiled.from_cache ? std::ssize(executable->implementations) : cache.hits();
  char took[32];
  std::snprintf(took, sizeof took, "%.2f s", total);
  output.line(counted(std::ssize(executable->kernels), "kernel") + " (" + std::to_string(cached) +
              " from the cache), " + counted(std::ssize(executable->call_sites), "call site") +
              ", " + size_text(static_cast<int64_t>(code)) + " of code, " + took);
  if (file_bytes > 0)
    output.line(options.file + ": " + size_text(static_cast<int64_t>(file_bytes)));
  if (package_bytes > 0) {
    output.line(options.package + ": " + size_text(static_cast<int64_t>(package_bytes)));
  }
  output.document(Json::object({{"target", Json::string(options.target)},
                                {"kernels", Json::array(std::move(kernels))},
                                {"code_bytes", Json::integer(static_cast<int64_t>(code))},
                                {"omitted_functions", Json::array(std::move(missing))},
                                {"cached_kernels", Json::integer(cached)},
                                {"file", Json::string(options.file)},
                                {"file_bytes", Json::integer(static_cast<int64_t>(file_bytes))},
                                {"package", Json::string(options.package)},
                                {"package_bytes", Json::integer(package_bytes)},
                                {"passes", Json::array(std::move(passes))},
                                {"changes", dumps.json()},
                                {"memory", std::move(needs)},
                                {"seconds", Json::number(total)}}));
  return kDone;
}

}  // namespace

void add_compile(Registration registration) {
  auto* command = registration.app.add_subcommand("compile", "Compile a model or a text module");
  command->footer("Example: tapml compile models/demo --target cpu -o demo.tapml");
  auto options = std::make_shared<CompileOptions>();
  command->add_option("model", options->model, "Model directory, GGUF file or text module");
  command->add_option("--config", options->config,
                      "Model configuration to compile without weights (config.json)");
  command->add_option("--target", options->target, "Platform to compile for: kind[:key=value,...]")
      ->capture_default_str();
  command->add_option("-o,--output", options->file, "File for the executable");
  command->add_option("--package", options->package,
                      "Folder for a package of executable, weights and tokenizer");
  options->dumps.add_to(*command);
  command->add_flag("--time-passes", options->times, "Print the seconds that each pass takes");
  command->add_option(
      "--report-phases", options->phases,
      "File for the module's bindings, calls, kernels and bytes after each pass (JSON)");
  command->add_flag("--verify", options->verify, "Check the invariants after each pass");
  command
      ->add_option("--skip-pass", options->skip,
                   "Optional passes to leave out, such as fuse_ops,plan_memory")
      ->delimiter(',');
  command->add_option("--bound", options->bounds,
                      "Upper bounds of symbolic variables, such as n=512,b=1");
  auto* memory = command->add_option(
      "--memory", options->memory,
      "Print the memory that each function needs, for values such as n=512,b=1 (after MODEL)");
  memory->expected(0, 1);
  command->add_option("--memory-limit", options->memory_limit,
                      "Largest memory that a function may need, such as 512M");
  add_options(*command, options->cache);
  add_options(*command, options->patterns);
  add_options(*command, options->format);
  add_pooling_options(*command, options->format);
  add_options(*command, options->libraries);
  options->shapes.add_to(*command);
  set_runner(*command, registration, [options, registration, memory] {
    options->print_memory = memory->count() > 0;
    return run(*options, registration.output);
  });
}

}  // namespace tapml::cli
