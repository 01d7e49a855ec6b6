// Carves runs: the parts that `carve` and the Python package share.
#pragma once

#include <functional>

#include "app/commands/carve.h"
#include "topdown/reference_run/model_runner.h"
#include "topdown/suite/carve.h"

namespace tapml::app {

// The program that ran, for edge cases.
struct CarveSource {
  target::Target target;
  std::shared_ptr<const Executable> executable;
  // Opens sessions in a separate process, where some kernels need one; else empty.
  std::function<std::unique_ptr<runtime::Session>()> open_contained;
};
CarveSource carve_source(const CarveCommand& command, const target::Target& target,
                         std::shared_ptr<const Executable> executable,
                         const std::unique_ptr<ContainedKernels>& contained);

// Performs one of the runs to carve.
using CarveRun = std::function<Status(const topdown::Carver& carver)>;

topdown::CarveOptions carve_options(const CarveCommand& command);
// UserError for an option that does not apply to `model`.
void refuse(bool given, const char* option, const std::string& with, const std::string& model);
bool is_cancelled(const CommandHooks& hooks);

// Adds calls to those of the runs; the VM has no capture.
using AddCalls = std::function<Status(topdown::Carver& carver)>;

Carved carve_runs(runtime::VirtualMachine& vm, const CarveSource& source,
                  const CarveCommand& command, topdown::CarveOptions options,
                  const std::vector<CarveRun>& runs, const CommandHooks& hooks,
                  const AddCalls& add = {});

// A model that is ready to be carved.
struct CarvedModel {
  ReadyModel model;
  topdown::CarveOptions options;
  std::optional<topdown::ModelRunner> runner;  // goes first
};
CarvedModel open_carved(CarveCommand& command, const CommandHooks& hooks,
                        const BeforeCompile& before_compile = {});
Carved carve_runs(CarvedModel& carved, const CarveCommand& command,
                  const std::vector<CarveRun>& runs, const CommandHooks& hooks,
                  const AddCalls& add = {});

// For a language model, an encoder, and a text module.
Carved carve_encoder(CarveCommand command, const CommandHooks& hooks);
Carved carve_model(CarveCommand command, const CommandHooks& hooks);
Carved carve_module(const CarveCommand& command, const CommandHooks& hooks);

}  // namespace tapml::app
