#include "choices.h"

#include "ir/exceptions.h"

namespace tapml::python {

app::ModelChoice choice_of(const LanguageModel& model) {
  return {model.folder, {}, model.format, model.inputs, model.loaded};
}

app::RunInput input_of(const LanguageModel& model, const TextOrTexts& given, const char* where) {
  app::RunInput input;
  const auto* one = std::get_if<std::string>(&given);
  const auto texts = one ? std::vector{*one} : std::get<std::vector<std::string>>(given);
  if (model.is_encoder()) {
    if (texts.empty()) throw_user("there is no text", where, "a text, or several", "none");
    input.texts.texts = texts;
    return input;
  }
  if (texts.size() != 1) {
    throw_user("a language model continues one prompt", where, "a text",
               std::to_string(texts.size()) + " texts");
  }
  input.prompt = texts[0];
  return input;
}

app::ModelOptions model_options_of(const LanguageModel& model, bool cache) {
  app::ModelOptions options;
  options.model = model.folder;
  options.format = model.format;
  options.inputs = model.inputs;
  options.loaded = model.loaded;
  options.cache.off = !cache;
  return options;
}

void set_platform(app::ModelOptions& options, const OpenSession& open, runtime::Session& session) {
  options.session = &session;
  options.opened = open.target();
  options.libraries = open.libraries();
  options.remote = open.remote();
}

app::PlatformChoice choice_of(const OpenSession& open, runtime::Session& session) {
  return {open.target(), &session, open.libraries(), open.remote()};
}

app::ToleranceChoice choice_of(const std::pair<std::string, std::string>& tolerance) {
  return {tolerance.second, tolerance.first};
}

app::CommandHooks interruptible_hooks() {
  app::CommandHooks hooks;
  hooks.cancelled = [] { return interrupt_of_this_thread().load(); };
  hooks.poll = check_interrupt;
  return hooks;
}

app::CommandHooks command_hooks(ProgressFunction& reporter) {
  app::CommandHooks hooks = interruptible_hooks();
  hooks.interrupt = &interrupt_of_this_thread();
  hooks.progress = reporter.callback();
  return hooks;
}

}  // namespace tapml::python
