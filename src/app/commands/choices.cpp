#include "app/commands/choices.h"

#include <filesystem>

#include "app/command_options.h"
#include "app/platforms.h"
#include "base/log.h"
#include "ir/exceptions.h"

namespace tapml::app {

std::shared_ptr<const LoadedModel> ModelChoice::load(const WorkWatcher& watcher,
                                                     ModelUse use) const {
  auto model =
      loaded ? loaded
             : std::make_shared<const LoadedModel>(load_model(name, "", patterns, format, watcher));
  check_use(unwrap(model_interface_of(model->files.module.all_attrs())), use, name);
  return model;
}

void RunInput::check(const TextInputOptions& inputs) const {
  if (!texts.given()) {
    if (!prompt.empty() || inputs.features.given()) return;
    throw_user("the prompt is empty", "--prompt",
               "some text, or --text TEXT or --texts FILE for an encoder", "nothing");
  }
  if (prompt.empty()) return;
  throw_user("a model either continues a prompt or makes vectors of texts", "--prompt",
             "none with --text or --texts", prompt);
}

RunTokens run_tokens(const LoadedModel& model, const RunInput& input, llm::TextInputs& inputs) {
  RunTokens run;
  if (!input.texts.given()) {
    run.prompt = encode_prompt(model, input.prompt, inputs);
    run.shown = input.prompt;
    return run;
  }
  const NamedTexts texts = read_texts(input.texts);
  run.texts = encode_texts(model.tokenizer,
                           unwrap(model_interface_of(model.files.module.all_attrs())), texts);
  for (const std::string& text : texts.texts) run.shown += (run.shown.empty() ? "" : "\n") + text;
  return run;
}

topdown::Tolerances ToleranceChoice::load() const {
  if (!text) return name.empty() ? topdown::Tolerances() : topdown::Tolerances::load(name);
  return text->empty() ? topdown::Tolerances() : topdown::Tolerances::parse(*text, name);
}

std::string ToleranceChoice::file() const {
  std::error_code ignored;
  if (!text) return name;
  return !text->empty() && std::filesystem::is_regular_file(name, ignored) ? name : "";
}

std::vector<std::string> ToleranceChoice::unused(const topdown::Tolerances& tolerances,
                                                 const std::set<std::string>& kernels) const {
  std::vector<std::string> texts = tolerances.unused_texts(kernels);
  for (std::string& one : texts) one = name + ": " + one;
  return texts;
}

OpenPlatform open_platform(const PlatformChoice& choice, const CacheOptions& cache,
                           const WorkWatcher& watcher) {
  OpenPlatform open{choice.target, choice.session, nullptr};
  if (open.session) return open;
  RemoteOptions remote = choice.remote;
  remote.watcher = watcher;
  open.own = open_session(open.target, cache, choice.libraries.load(), remote);
  open.session = open.own.get();
  return open;
}

PlatformUnderTest open_under_test(const PlatformChoice& choice, const IsolationOptions& isolation,
                                  const WorkWatcher& watcher) {
  if (isolation.in_process && choice.session) {
    return {nullptr, {choice.target, choice.session}, choice.session->info()};
  }
  target::Target target = choice.target;
  RemoteOptions remote = choice.remote;
  if (watcher) remote.watcher = watcher;
  return open_under_test(target, choice.libraries, remote, isolation);
}

topdown::Platform trusted_platform(const PlatformChoice& choice, const OpenPlatform& open,
                                   const IsolationOptions& isolation) {
  topdown::Platform platform{open.target, open.session};
  if (isolation.in_process) return platform;
  platform.remote_target = !open.target.endpoint.empty();
  platform.open = worker_opener(open.target, choice.libraries, choice.remote, isolation);
  platform.kernel_timeout =
      std::chrono::milliseconds(static_cast<int64_t>(isolation.kernel_seconds * 1e3));
  return platform;
}

library::LibraryOptions routine_options(const std::optional<LibraryFiles>& libraries,
                                        const PatternOptions& patterns) {
  return libraries ? library_options(libraries->load(), patterns) : library::LibraryOptions();
}

topdown::CommandOptions repeated_options(const PlatformChoice& target,
                                         const IsolationOptions& isolation,
                                         const std::string& kernels,
                                         const ToleranceChoice& tolerance) {
  topdown::CommandOptions options = command_options(target.libraries, target.remote, isolation);
  options.kernels = kernels;
  options.tolerance = tolerance.file();
  return options;
}

topdown::CommandOptions with_model(topdown::CommandOptions options, const ModelChoice& model,
                                   const EncoderTexts& texts) {
  options.patterns = model.patterns.file;
  options.quantize = model.format.quantization();
  options.activations = model.format.activations;
  options.kv_cache = model.format.kv_cache;
  options.accumulation = model.format.accumulation;
  options.quantize_activations = model.format.quantize_activations;
  options.features = model.inputs.features.file;
  options.audio = model.inputs.features.audio;
  options.embeddings = model.inputs.embeddings.files;
  options.images = model.inputs.images.files;
  options.texts = texts.texts;
  options.texts_file = texts.file;
  options.pooling = model.format.pooling;
  options.normalize = model.format.normalize;
  return options;
}

void log_each(const std::vector<std::string>& warnings) {
  for (const std::string& text : warnings) log_warning(text);
}

}  // namespace tapml::app
