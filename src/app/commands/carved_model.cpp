// Prepares a model to be carved.
#include <filesystem>

#include "app/commands/carve_runs.h"
#include "app/platforms.h"
#include "ir/exceptions.h"
#include "topdown/suite/coverage.h"

namespace tapml::app {

CarvedModel open_carved(CarveCommand& command, const CommandHooks& hooks,
                        const BeforeCompile& before_compile) {
  if (command.weights == "reference" && is_compiled(command.model.model)) {
    throw_user("weights by reference are found in a model directory", "--weights",
               "a model directory as MODEL", command.model.model,
               "--weights inside, or carve the model directory");
  }
  if (hooks.phase) hooks.phase("load", 0);
  command.model.watcher = hooks.watcher;
  command.model.for_any_platform = true;
  CarvedModel carved{make_ready(command.model, before_compile), carve_options(command), {}};
  const ReadyModel& model = carved.model;
  if (command.weights == "reference") {
    carved.options.weights = &model.weights;
    carved.options.model_folder =
        std::filesystem::absolute(command.model.model).lexically_normal().string();
    carved.options.quantization = command.model.format.quantization();
  }
  if (has_own_process(model.target)) carved.options.held = &model.weights;
  carved.options.functions =
      topdown::generation_functions(*model.executable, command.sampler.temperature,
                                    model.session->info(), !model.inputs.images.empty());
  if (!command.as_run) carved.options.fragmented = &carved.model.weights;
  carved.runner = topdown::ModelRunner::trusted(
      unwrap(runtime::open_instrumented(*model.session, model.executable)), model.weights,
      !command.as_run);
  carved.runner->set_watcher(hooks.watcher);
  if (llm::Engine* engine = carved.runner->engine()) {
    model.attach(*engine);
  } else if (model.contained) {
    model.contained->attach(carved.runner->vm());
  }
  return carved;
}

Carved carve_runs(CarvedModel& carved, const CarveCommand& command,
                  const std::vector<CarveRun>& runs, const CommandHooks& hooks,
                  const AddCalls& add) {
  const ReadyModel& model = carved.model;
  return carve_runs(carved.runner->vm(),
                    carve_source(command, model.target, model.executable, model.contained), command,
                    carved.options, runs, hooks, add);
}

}  // namespace tapml::app
