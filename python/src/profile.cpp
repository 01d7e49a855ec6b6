#include "app/commands/profile.h"

#include "choices.h"
#include "language_model.h"
#include "progress.h"
#include "session.h"
#include "topdown/results/result_json.h"

namespace tapml::python {

namespace {

// The result as JSON.
std::string profile(const py::object& given, const py::object& device, const std::string& prompt,
                    int64_t max_tokens, bool cache, const py::object& progress) {
  const char* where = "profile(model, device, prompt)";
  const SessionRef open = session_of(device, where);
  const std::shared_ptr<runtime::Session> session = open->use();
  app::ProfileCommand command;
  command.model = model_options_of(language_model_of(given, where), cache);
  set_platform(command.model, *open, *session);
  command.prompt = prompt;
  command.max_tokens = max_tokens;
  ProgressFunction reporter(progress);
  app::CommandHooks hooks = command_hooks(reporter);
  hooks.phase = [tell = hooks.progress](const std::string& step, int64_t total) {
    if (tell) tell(step, 0, total);
  };
  return reporter.run([&] { return topdown::profiled_json(app::profile(command, hooks)).dump(); });
}

}  // namespace

void bind_profile(py::module_& module) {
  module.def("profile", &profile, py::arg("model"), py::arg("device"), py::arg("prompt"),
             py::arg("max_tokens"), py::arg("cache"), py::arg("progress"));
}

}  // namespace tapml::python
