#include "app/commands/evaluate.h"

#include <pybind11/stl.h>

#include <optional>

#include "choices.h"
#include "language_model.h"
#include "progress.h"
#include "session.h"
#include "topdown/results/result_json.h"

namespace tapml::python {

namespace {

// A JSON document for each device, in order. `reference`: the index of the device that the others
// are compared with.
std::vector<std::string> evaluate(const py::object& given, const py::list& devices,
                                  const std::string& text, const std::string& file,
                                  std::optional<size_t> reference, bool cache, int64_t max_tokens,
                                  bool chat, const std::string& python,
                                  const py::object& progress) {
  const char* where = "evaluate(model, devices, tasks)";
  app::EvaluateCommand command;
  command.model = model_options_of(language_model_of(given, where), cache);
  command.tasks = file;
  command.tasks_text = text;
  command.reference_index = reference;
  command.programs.max_tokens = max_tokens;
  command.programs.chat = chat;
  command.programs.python = python;
  std::vector<std::shared_ptr<runtime::Session>> sessions;
  for (py::handle device : devices) {
    const SessionRef open = session_of(py::reinterpret_borrow<py::object>(device), where);
    sessions.push_back(open->use());
    command.targets.push_back(choice_of(*open, *sessions.back()));
  }
  ProgressFunction reporter(progress);
  app::CommandHooks hooks = command_hooks(reporter);
  // A step names the device.
  std::string device;
  hooks.phase = [&](const std::string& name, int64_t total) {
    if (total > 0) device = name.substr(name.rfind(' ') + 1);
  };
  hooks.progress = [&, tell = hooks.progress](const std::string&, int64_t done, int64_t total) {
    tell(device, done, total);
  };
  return reporter.run([&] {
    topdown::Evaluated evaluated = app::evaluate(command, hooks);
    std::vector<std::string> documents;
    for (const topdown::Evaluation& one : evaluated.evaluations) {
      documents.push_back(topdown::evaluation_json(one).dump());
    }
    return documents;
  });
}

}  // namespace

void bind_evaluate(py::module_& module) {
  module.def("evaluate", &evaluate, py::arg("model"), py::arg("devices"), py::arg("tasks"),
             py::arg("file"), py::arg("reference"), py::arg("cache"), py::arg("max_tokens"),
             py::arg("chat"), py::arg("python"), py::arg("progress"));
}

}  // namespace tapml::python
