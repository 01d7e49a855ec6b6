#include "app/commands/localize.h"

#include <filesystem>

#include "app/same_platform.h"
#include "frontend/gguf/model.h"
#include "ir/exceptions.h"
#include "topdown/faults/pass_fault.h"
#include "topdown/kernels/custom_kernels.h"
#include "topdown/localize/bisect_passes.h"
#include "topdown/localize/localize.h"

namespace tapml::app {

namespace {

topdown::CommandOptions options_again(const ModelRun& command, const std::string& kernels,
                                      const ToleranceChoice& tolerance,
                                      const llm::SamplerOptions& sampler) {
  topdown::CommandOptions options =
      with_model(repeated_options(command.target, command.isolation, kernels, tolerance),
                 command.model, command.texts);
  options.max_tokens = command.max_tokens;
  options.sampler = sampler;
  options.faults = command.faults;
  return options;
}

std::string command_line(const ModelRun& command, const topdown::CommandOptions& options) {
  return topdown::model_command("localize", command.model.name, command.source.target.text,
                                command.target.target.text, command.prompt, options);
}

topdown::RunFacts facts_of(const ModelRun& command, const LoadedModel& model) {
  if (!command.facts) return {};
  topdown::RunFacts facts = topdown::run_facts(command.model.name, model.files.weights);
  facts.import = command.import;
  return facts;
}

// Sets the options that both of topdown's functions take, and returns what the model reads.
template <class Options>
RunTokens set_shared(Options& options, const ModelRun& command, const LoadedModel& model,
                     CompileCache& cache, const CommandHooks& hooks) {
  options.validation_tokens = command.max_tokens;
  options.eos = model.files.eos;
  options.inputs = command.model.inputs.load(model.files.module, model.files.folder);
  options.libraries = routine_options(command.libraries, command.model.patterns);
  options.cache = cache.kernels();
  set_hooks(options, hooks);
  RunTokens run = run_tokens(model, command, options.inputs);
  options.texts = run.texts;
  return run;
}

}  // namespace

Localized localize(const LocalizeCommand& command, const CommandHooks& hooks) {
  unwrap(llm::check_sampler_options(command.sampler));
  command.check(command.model.inputs);
  for (const std::string& fault : command.faults) topdown::parse_fault(fault);
  topdown::LocalizeOptions options;
  if (!command.kernels.empty()) {
    options.custom_sources = topdown::read_custom_sources(command.kernels, command.target.target);
  }
  if (hooks.checked) hooks.checked();
  options.tolerances = command.tolerance.load();
  const OpenPlatform source = open_platform(command.source, command.cache, hooks.watcher);
  CompileCache cache(command.cache);
  const PlatformUnderTest target =
      open_under_test(command.target, command.isolation, hooks.watcher);
  if (command.faults.empty() && options.custom_sources.empty()) {
    warn_of_same_platform("localize", source.target, source.session->info(), target.platform.target,
                          target.info);
  }
  const std::shared_ptr<const LoadedModel> model = command.model.load(hooks.watcher, command.use());
  const RunTokens run = set_shared(options, command, *model, cache, hooks);
  if (command.suite) {
    options.suite = *command.suite;
  } else if (!command.suite_folder.empty()) {
    const bool folder = std::filesystem::is_directory(command.model.name) ||
                        frontend::is_gguf_model(command.model.name);
    options.suite = unwrap(
        topdown::load_suite(command.suite_folder, folder ? command.model.name : "", hooks.watcher));
  }
  options.sampler = command.sampler;
  options.repeats = command.repeats;
  options.shrink_time = command.shrink_time;
  options.faults = command.faults;
  options.watch = hooks.watch;
  Localized localized;
  localized.localization = topdown::localize(
      model->files.module, model->files.weights, run.prompt,
      trusted_platform(command.source, source, command.isolation), target.platform, options);
  if (hooks.worked) hooks.worked();
  std::set<std::string> kernels;
  for (const topdown::KernelVerdict& verdict : localized.localization.verdicts) {
    kernels.insert(verdict.kernel);
  }
  localized.warnings = command.tolerance.unused(options.tolerances, kernels);
  localized.options = options_again(command, command.kernels, command.tolerance, command.sampler);
  localized.command = command_line(command, localized.options);
  if (!command.suite_folder.empty()) {
    localized.command += " --suite " + topdown::quoted_word(command.suite_folder);
  }
  localized.shown = run.shown;
  localized.run = facts_of(command, *model);
  return localized;
}

PassesBisected bisect_passes(const ModelRun& command, const CommandHooks& hooks) {
  command.check(command.model.inputs);
  if (hooks.checked) hooks.checked();
  topdown::BisectPassesOptions options;
  for (const std::string& fault : command.faults) {
    const auto pass = topdown::parse_pass_fault(fault);
    if (!pass || options.rewrite_pass) {
      throw_user("this fault cannot be injected with --bisect passes", "--inject-fault " + fault,
                 "one PASS:wrong-operator", fault);
    }
    options.rewrite_pass = topdown::wrong_operator_after(*pass);
  }
  const OpenPlatform source = open_platform(command.source, {}, hooks.watcher);
  const PlatformUnderTest target =
      open_under_test(command.target, command.isolation, hooks.watcher);
  if (command.faults.empty()) {
    warn_of_same_platform("localize", source.target, source.session->info(), target.platform.target,
                          target.info);
  }
  const std::shared_ptr<const LoadedModel> model = command.model.load(hooks.watcher, command.use());
  CompileCache cache(command.cache);
  const RunTokens run = set_shared(options, command, *model, cache, hooks);
  PassesBisected bisected;
  bisected.bisection =
      topdown::bisect_passes(model->files.module, model->files.weights, run.prompt,
                             {source.target, source.session, {}, target.platform.kernel_timeout},
                             target.platform, options);
  if (hooks.worked) hooks.worked();
  bisected.command = command_line(command, options_again(command, "", {}, {})) + " --bisect passes";
  bisected.shown = run.shown;
  bisected.run = facts_of(command, *model);
  return bisected;
}

}  // namespace tapml::app
