#include "choices.h"

namespace tapml::python {

app::ModelChoice choice_of(const LanguageModel& model) {
  return {model.folder, {}, model.format, model.loaded};
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

app::CommandHooks command_hooks(ProgressFunction& told) {
  app::CommandHooks hooks = interruptible_hooks();
  hooks.interrupt = &interrupt_of_this_thread();
  hooks.progress = told.callback();
  return hooks;
}

}  // namespace tapml::python
