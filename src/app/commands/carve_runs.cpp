#include "app/commands/carve_runs.h"

#include <filesystem>

#include "app/executable.h"
#include "base/log.h"
#include "base/units.h"
#include "frontend/gguf/model.h"
#include "io/host/mapped_ranges.h"
#include "ir/exceptions.h"

namespace tapml::app {

namespace {

// Adds edge cases to the suite, computed by the platform it was carved from. A suite in a folder
// is changed there.
topdown::EdgeCases add_edge_cases(const CarveCommand& command, const CarveSource& source,
                                  runtime::Session& session, const CommandHooks& hooks,
                                  topdown::Suite& carved) {
  if (hooks.phase) hooks.phase("edge cases", 0);
  const bool stored = !command.folder.empty();
  topdown::Suite suite =
      stored ? unwrap(topdown::load_suite(command.folder, "", hooks.watcher)) : std::move(carved);
  topdown::Platform platform{source.target, &session};
  platform.open = source.open_contained;
  topdown::Sandbox sandbox(std::move(platform), hooks.cancelled);
  sandbox.load(source.executable);
  topdown::EdgeCases cases = topdown::add_edge_cases(suite, sandbox, hooks.poll, hooks.watcher);
  suite.incomplete.clear();
  if (stored) {
    unwrap(topdown::save_suite(suite, command.folder, hooks.watcher));
  } else {
    carved = std::move(suite);
  }
  if (hooks.phase_end) hooks.phase_end(std::to_string(cases.added) + " edge cases");
  return cases;
}

// Adds the calls of kernels that choose (topdown::add_choice_cases). `suite` has no tensors if it
// is in a folder: then only those of these kernels' smallest calls are read.
void add_choice_cases(const CarveSource& source, runtime::Session& session,
                      const CommandHooks& hooks, const topdown::CarveOptions& options,
                      const std::string& path, topdown::Suite& suite) {
  topdown::Sandbox sandbox({source.target, &session}, hooks.cancelled);
  sandbox.load(source.executable);
  if (!options.folder) {
    topdown::add_choice_cases(suite, sandbox, hooks.poll);
    return;
  }
  topdown::Suite part = suite;
  std::set<int32_t> taken;
  // The last call of a kernel is most often a decode step, which is small.
  std::ranges::reverse(part.calls);
  std::erase_if(part.calls, [&](const topdown::SuiteCall& call) {
    return !topdown::makes_choice(suite.kernels[static_cast<size_t>(call.kernel)]) ||
           !taken.insert(call.kernel).second;
  });
  if (part.calls.empty()) return;
  for (const std::string& hash : topdown::named_tensors(part)) {
    const auto weight = part.weights.find(hash);
    part.tensors.emplace(hash, weight == part.weights.end()
                                   ? unwrap(topdown::load_tensor(path, hash))
                                   : options.weights->at(weight->second));
  }
  const size_t carved = part.calls.size();
  topdown::add_choice_cases(part, sandbox, hooks.poll);
  for (size_t c = carved; c < part.calls.size(); ++c) {
    topdown::SuiteCall& call = part.calls[c];
    for (const auto* hashes : {&call.before, &call.after}) {
      for (const std::string& hash : *hashes) {
        if (!hash.empty()) unwrap(options.folder->put(hash, part.tensors.at(hash)));
      }
    }
    call.sequence = suite.calls.back().sequence + 1;
    suite.calls.push_back(std::move(call));
  }
}

// Why the suite is incomplete; empty if all runs finished.
std::string why_incomplete(const Status& status, bool nan, bool cancelled) {
  if (cancelled) return "interrupted";
  if (status) return "";
  return nan ? "NaN in the source's run" : status.error().message;
}

}  // namespace

bool is_cancelled(const CommandHooks& hooks) { return hooks.cancelled && hooks.cancelled(); }

CarveSource carve_source(const CarveCommand& command, const target::Target& target,
                         std::shared_ptr<const Executable> executable,
                         const std::unique_ptr<ContainedKernels>& contained) {
  CarveSource source{target, std::move(executable), {}};
  if (contained) {
    source.open_contained = worker_opener(target, command.model.libraries, command.model.remote,
                                          command.model.isolation);
  }
  return source;
}

topdown::CarveOptions carve_options(const CarveCommand& command) {
  topdown::CarveOptions options;
  options.calls_per_kernel = command.calls;
  options.budget_bytes = command.budget_bytes;
  return options;
}

void refuse(bool given, const char* option, const std::string& with, const std::string& model) {
  if (given) throw_user(std::string(option) + " goes with " + with + " only", option, with, model);
}

Carved carve_runs(runtime::VirtualMachine& vm, const CarveSource& source,
                  const CarveCommand& command, topdown::CarveOptions options,
                  const std::vector<CarveRun>& runs, const CommandHooks& hooks,
                  const AddCalls& add) {
  std::optional<topdown::SuiteFolder> folder;
  if (!command.folder.empty()) {
    folder = unwrap(topdown::SuiteFolder::open(command.folder));
    options.folder = &*folder;
  }
  const std::string unfinished = "the carve did not end";
  if (hooks.phase) hooks.phase("carve", std::ssize(runs));
  topdown::Carver carver(vm.executable(), options);
  if (folder) unwrap(folder->begin(carver.so_far(unfinished)));
  unwrap(vm.set_capture(carver.plan(), &carver));
  vm.set_interrupt(hooks.interrupt);
  vm.set_call_limit(command.model.step_limit);
  Status status;
  size_t indexed = 0;  // calls in the last suite.json
  for (size_t i = 0; i < runs.size(); ++i) {
    if (hooks.progress) hooks.progress("run", static_cast<int64_t>(i), std::ssize(runs));
    status = runs[i](carver);
    if (!status || is_cancelled(hooks)) break;
    if (!folder) continue;
    // Files written so far survive a kill; the list is only rewritten after enough new calls.
    const size_t calls = carver.suite().calls.size();
    if (calls < indexed + indexed / 4) continue;
    unwrap(folder->write_index(carver.so_far(unfinished)));
    indexed = calls;
  }
  const Status ended = vm.set_capture({}, nullptr);
  if (status) unwrap(ended);
  if (status && add && !carver.nan() && !is_cancelled(hooks)) status = add(carver);
  const bool wrong = carver.nan().has_value();
  // After an interruption or a fault the calls carved so far are a valid suite too, marked as
  // incomplete.
  std::string incomplete = why_incomplete(status, wrong, is_cancelled(hooks));
  if (incomplete.empty() && command.edge) incomplete = "edge cases were not added";
  if (Status files = check_mapped_files(); !files) incomplete = files.error().message;
  topdown::Suite suite = carver.take(incomplete);
  if (add && status && !wrong && !is_cancelled(hooks) && !command.edge) {
    add_choice_cases(source, vm.session(), hooks, options, command.folder, suite);
  }
  if (folder) unwrap(folder->finish(suite));
  // Sampling fails on NaN, so such a run ends with an error.
  if (!status && !is_cancelled(hooks) && !wrong) {
    if (folder) log_warning(command.folder + " contains only a part of the suite");
    throw_error(status.error());
  }
  if (hooks.phase_end) {
    hooks.phase_end(counted(std::ssize(suite.calls), "call") + " of " +
                    counted(std::ssize(suite.kernels), "kernel"));
  }
  if (options.budget_bytes > 0 && carver.bytes() > options.budget_bytes) {
    log_warning("one call of every kernel takes " + size_text(carver.bytes()) +
                ", which is more than --budget");
  }
  Carved carved;
  carved.tensors = carver.tensors();
  carved.bytes = carver.bytes();
  carved.nan = carver.nan();
  if (command.edge && !wrong && !is_cancelled(hooks)) {
    carved.edge = add_edge_cases(command, source, vm.session(), hooks, suite);
    carved.edge_added = true;
    suite.incomplete.clear();  // they are there now
  }
  carved.suite = std::move(suite);
  carved.interrupted = is_cancelled(hooks);
  return carved;
}

Carved carve(const CarveCommand& command, const CommandHooks& hooks) {
  const std::string& model = command.model.model;
  std::error_code ignored;
  const bool is_text = std::filesystem::is_regular_file(model, ignored) &&
                       !is_executable_file(model) && !frontend::is_gguf_model(model);
  if (is_text) return carve_module(command, hooks);
  return command.texts.given() || command.model.use == ModelUse::kEmbed
             ? carve_encoder(command, hooks)
             : carve_model(command, hooks);
}

}  // namespace tapml::app
