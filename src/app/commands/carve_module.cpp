// Carves a text module while its function runs.
#include <algorithm>
#include <set>

#include "abi/platforms.h"
#include "app/commands/carve_runs.h"
#include "app/platforms.h"
#include "io/host/files.h"
#include "io/safetensors.h"
#include "ir/exceptions.h"
#include "passes/weights.h"
#include "pipeline/check_input.h"
#include "pipeline/compile.h"
#include "relax/expr.h"
#include "text/parser.h"

namespace tapml::app {

namespace {

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

// The inputs of one run of a module's function.
struct ModuleInputs {
  std::vector<HostTensor> arguments;  // as in the text
  std::vector<HostTensor> weights;    // for `prepare`; empty if there is none
};

// `parameters` are those of the function in the text; the executable's function also takes what
// `prepare` computes from weights at load.
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

// The results of `prepare`: the arguments after those in the text.
std::vector<runtime::Value> prepared_values(runtime::VirtualMachine& vm,
                                            const std::vector<HostTensor>& weights) {
  if (!vm.executable().find_function(passes::kPrepareFunction)) return {};
  const runtime::Value made =
      unwrap(vm.call(passes::kPrepareFunction, unwrap(upload_all(vm.session(), weights))));
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

}  // namespace

Carved carve_module(const CarveCommand& command, const CommandHooks& hooks) {
  const std::string& path = command.model.model;
  const std::string model = "a model directory";
  refuse(!command.prompts.empty(), "--prompt", model, path);
  refuse(command.texts.given(), "--text", model, path);
  refuse(!command.prompts_file.empty(), "--prompts", model, path);
  refuse(command.draft_tokens > 0, "--draft-tokens", model, path);
  refuse(!command.model.folder.empty(), "--model", "an executable", path);
  refuse(!command.model.inputs.features.file.empty(), "--features", model, path);
  refuse(!command.model.inputs.features.audio.empty(), "--audio", model, path);
  refuse(command.model.inputs.embeddings.given(), "--embeddings", model, path);
  refuse(command.model.inputs.images.given(), "--image", model, path);
  refuse(command.weights != "inside", "--weights", model, path);
  refuse(command.decode >= 0, "--decode", model, path);
  refuse(command.batch > 1, "--batch", model, path);
  refuse(command.sampler.temperature != 0, "--temperature", model, path);
  if (hooks.checked) hooks.checked();
  topdown::CarveOptions options = carve_options(command);
  if (command.inputs.empty()) {
    throw_user("a module is carved while its function runs", "command line",
               "--inputs FILE.safetensors", "none");
  }
  text::SourceMap places;
  Module module = pipeline::normal_input(
      text::parse(unwrap(read_text_file(path)), path, {.places = &places}), path, &places);
  if (hooks.phase) hooks.phase("compile", 0);
  target::Target target = target::parse_target(command.model.target.value_or(kDefaultPlatform));
  const device::HostLibraries libraries = command.model.libraries.load();
  check_routine_calls(module, libraries, places);
  auto session = open_session(target, command.model.cache, libraries, command.model.remote);
  command.model.patterns.apply(module);
  CompileCache cache(command.model.cache);
  pipeline::ImplementOptions implement;
  implement.cache = cache.kernels();
  implement.libraries = library_options(libraries, command.model.patterns);
  implement.instruments.poll = hooks.poll;
  implement.instruments.watcher = hooks.watcher;
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
  auto vm = unwrap(runtime::open_instrumented(*session, executable));
  if (contained) contained->attach(*vm);
  std::vector<std::vector<runtime::Value>> prepared;
  for (const ModuleInputs& one : inputs) {
    prepared.push_back(prepared_values(*vm, one.weights));
  }
  std::vector<CarveRun> runs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    runs.emplace_back([&, i](const topdown::Carver&) -> Status {
      TAPML_ASSIGN(std::vector<runtime::Value> args, upload_all(*session, inputs[i].arguments));
      args.insert(args.end(), prepared[i].begin(), prepared[i].end());
      TAPML_ASSIGN([[maybe_unused]] auto result, vm->call(function.name, args));
      return {};
    });
  }
  return carve_runs(*vm, carve_source(command, target, executable, contained), command,
                    std::move(options), runs, hooks);
}

}  // namespace tapml::app
