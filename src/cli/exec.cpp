// tapml exec: runs a function of a text module and shows its result.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "abi/platforms.h"
#include "app/argument_text.h"
#include "app/platforms.h"
#include "base/clock.h"
#include "base/host/interrupt.h"
#include "base/host/progress.h"
#include "base/strings.h"
#include "base/suggest.h"
#include "cli/command.h"
#include "cli/options.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "runtime/local_virtual_machine.h"
#include "text/parser.h"
#include "topdown/suite/npz.h"

namespace tapml::cli {

namespace {

// The target name that selects the reference evaluator.
constexpr const char* kInterpreter = "interp";

struct ExecOptions {
  std::string module, function, target = kDefaultPlatform, file;
  std::vector<std::string> args, bindings;
  bool whole = false;
  CacheOptions cache;
  PatternOptions patterns;
  LibraryFiles libraries;
  RemoteOptions remote;
};

struct Executed {
  HostValue result;
  double seconds = 0;    // of the call alone
  double largest_error;  // error bound by the reference evaluator for an implementation; NaN for
                         // other targets
};

std::map<std::string, int64_t> sizes_of(const std::vector<std::string>& bindings) {
  std::map<std::string, int64_t> sizes;
  for (const std::string& binding : bindings) {
    const size_t equals = binding.find('=');
    int64_t value = 0;
    const char* last = binding.data() + binding.size();
    const char* first = equals == std::string::npos ? last : binding.data() + equals + 1;
    const auto read = std::from_chars(first, last, value);
    if (first == last || read.ec != std::errc() || read.ptr != last || equals == 0) {
      throw_user("a binding cannot be read", "--bind", "VARIABLE=INTEGER, as in n=4", binding);
    }
    if (!sizes.emplace(binding.substr(0, equals), value).second) {
      throw_user("a variable is bound twice", "--bind", "one value", binding);
    }
  }
  return sizes;
}

const relax::Function& find_function(const Module& module, ExecOptions& options) {
  std::vector<std::string_view> names;
  for (const auto& [name, function] : module.functions) {
    if (relax::as_relax_function(function.get())) names.push_back(name);
  }
  if (names.empty()) throw_user("the module has no graph-level function", options.module);
  if (options.function.empty()) {
    options.function = names.size() == 1 ? std::string(names[0]) : "main";
  }
  const auto found = module.functions.find(options.function);
  const relax::Function* function =
      found == module.functions.end() ? nullptr : relax::as_relax_function(found->second.get());
  if (function) return *function;
  throw_user("the module has no such function to run", "--function", "one of " + join(names),
             options.function, suggestion(options.function, names));
}

Executed interpret(const Module& module, const ExecOptions& options,
                   const std::vector<HostValue>& args, Progress& progress) {
  interp::ValueList values;
  for (const HostValue& arg : args) values.push_back(to_interpreter(arg));
  interp::CallOptions call;
  call.poll = [] { unwrap(check_interrupted()); };
  call.watcher = progress.watcher();
  progress.begin("evaluate");
  const double start = seconds_now();
  const interp::Value result = interp::call(module, options.function, values, call);
  Executed executed{from_interpreter(result), seconds_now() - start, 0};
  // Includes tensors in tuples.
  auto widen = [&](auto&& self, const interp::Value& value) -> void {
    if (const auto* tensor = std::get_if<op::RefTensor>(&value.data)) {
      for (size_t i = 0; i < tensor->values.size(); ++i) {
        executed.largest_error = std::max(executed.largest_error, double{tensor->bound[i]});
      }
    } else if (const auto* list =
                   std::get_if<std::shared_ptr<const interp::ValueList>>(&value.data)) {
      for (const interp::Value& field : **list) self(self, field);
    }
  };
  widen(widen, result);
  return executed;
}

Executed run_compiled(Module module, const ExecOptions& options, const std::vector<HostValue>& args,
                      Progress& progress) {
  progress.begin("compile for " + options.target);
  target::Target target = target::parse_target(options.target);
  const device::HostLibraries libraries = options.libraries.load();
  auto session = open_session(target, options.cache, libraries, options.remote);
  // No `prepare` for weights: the function takes the parameters in its text.
  module.facts.weights.clear();
  options.patterns.apply(module);
  CompileCache cache(options.cache);
  pipeline::ImplementOptions implement;
  implement.cache = cache.kernels();
  implement.libraries = library_options(libraries, options.patterns);
  implement.instruments.poll = [] { unwrap(check_interrupted()); };
  implement.instruments.watcher = progress.watcher();
  const auto executable = pipeline::compile(module, target, implement);
  auto vm = has_own_process(target)
                ? unwrap(session->open_vm(executable))
                : std::unique_ptr<runtime::VirtualMachine>(
                      unwrap(runtime::LocalVirtualMachine::create(*session, executable)));
  vm->set_interrupt(&interrupt_flag());
  progress.begin("run on " + options.target);
  std::vector<runtime::Value> values;
  for (const HostValue& arg : args) values.push_back(to_machine(arg, *session, *executable));
  const double start = seconds_now();
  const runtime::Value result = unwrap(vm->call(options.function, values));
  unwrap(session->synchronize(runtime::kDefaultStream));
  const double seconds = seconds_now() - start;
  return {from_machine(result), seconds, std::numeric_limits<double>::quiet_NaN()};
}

// The tensors of the result, by path.
void write_result(const HostValue& result, const std::string& file) {
  std::vector<std::pair<std::string, HostTensor>> tensors;
  for_each_leaf(result, "result", [&](const std::string& path, const HostValue& value) {
    if (value.kind == HostValue::Kind::kTensor) tensors.emplace_back(path, value.tensor);
  });
  if (tensors.empty()) {
    throw_user("the result has no tensor to write", "--output", "a function that returns tensors",
               describe(result));
  }
  if (file.ends_with(".npz"))
    return unwrap(write_file_atomic(file, unwrap(topdown::write_npz(tensors))));
  unwrap(write_file_atomic(file, write_safetensors({tensors.begin(), tensors.end()})));
}

void print_result(const HostValue& result, bool whole, const Output& output) {
  for_each_leaf(result, "result", [&](const std::string& path, const HostValue& value) {
    output.line(path + ": " + describe(value));
    if (value.kind == HostValue::Kind::kTensor) output.line(elements_text(value.tensor, whole));
  });
  if (result.kind == HostValue::Kind::kTuple && result.fields.empty()) {
    output.line("result: an empty tuple");
  }
}

int run(ExecOptions options, const Output& output) {
  if (!options.file.empty()) {
    if (!options.file.ends_with(".safetensors") && !options.file.ends_with(".st") &&
        !options.file.ends_with(".npz")) {
      throw_user("results cannot be written in this format", "--output",
                 "a file FILE.safetensors, FILE.st or FILE.npz", options.file);
    }
    unwrap(check_writable(options.file));
  }
  if (options.target != kInterpreter) target::parse_target(options.target);
  text::SourceMap places;
  const Module module = pipeline::normal_input(
      text::parse(unwrap(read_text_file(options.module)), options.module, {.places = &places}),
      options.module, &places);
  const relax::Function& function = find_function(module, options);
  const std::vector<HostValue> args =
      ArgumentReader(function, options.function, sizes_of(options.bindings)).read(options.args);
  const bool interpreted = options.target == kInterpreter;
  Progress progress = Progress::to_stderr(output.json, Progress::kPatience);
  const Executed executed = interpreted ? interpret(module, options, args, progress)
                                        : run_compiled(module, options, args, progress);
  progress.end();
  if (!options.file.empty()) {
    write_result(executed.result, options.file);
    output.line(options.file);
  } else {
    print_result(executed.result, options.whole, output);
  }
  if (interpreted && executed.largest_error > 0) {
    char text[96];
    std::snprintf(text, sizeof text, "an implementation may be off by %.3g",
                  executed.largest_error);
    output.line(text);
  }
  Json json = Json::object({{"module", Json::string(options.module)},
                            {"function", Json::string(options.function)},
                            {"target", Json::string(options.target)},
                            {"result", host_value_json(executed.result, options.file.empty())},
                            {"output", Json::string(options.file)},
                            {"seconds", Json::number(executed.seconds)},
                            {"largest_error", Json::number(executed.largest_error)}});
  output.document(json);
  return kDone;
}

}  // namespace

void add_exec(Registration registration) {
  auto* command = registration.app.add_subcommand(
      "exec", "Run a function of a text module and show its result");
  command->footer(
      "Example: tapml exec program.txt --function main --args \"x=f32[2,3]:random(1)\" n=4");
  auto options = std::make_shared<ExecOptions>();
  command->add_option("module", options->module, "Text module")->required();
  command->add_option("--function", options->function, "Function to run")
      ->default_str("the only one, or main");
  command->add_option(
      "--args", options->args,
      "Arguments: NAME=VALUE, or values in the order of the parameters (docs/cli.md)");
  command
      ->add_option("--bind", options->bindings,
                   "Values of symbolic variables, for arguments without a shape of their own")
      ->delimiter(',');
  command
      ->add_option(
          "--target", options->target,
          "Platform to run on: kind[:key=value,...][@endpoint], or interp, the reference evaluator")
      ->capture_default_str();
  command->add_option("-o,--output", options->file,
                      "File for the result's tensors (.safetensors, .st or .npz)");
  command->add_flag("--full", options->whole, "Show all elements");
  add_options(*command, options->cache);
  add_options(*command, options->patterns);
  add_options(*command, options->libraries);
  add_options(*command, options->remote);
  set_runner(*command, registration,
             [options, registration] { return run(*options, registration.output); });
}

}  // namespace tapml::cli
