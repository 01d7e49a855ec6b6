#include "topdown/evaluate/evaluate.h"

#include <pybind11/stl.h>

#include <optional>

#include "abi/model_interface.h"
#include "executable.h"
#include "language_model.h"
#include "progress.h"
#include "session.h"

namespace tapml::python {

namespace {

using topdown::Evaluation;
using topdown::ScoredTask;

// A JSON document for each device, in order. `reference`: the index of the device that the others
// are compared with.
std::vector<std::string> evaluate(const py::object& given, const py::list& devices,
                                  const std::string& text, const std::string& file,
                                  std::optional<size_t> reference, bool cache,
                                  const py::object& progress) {
  const char* where = "evaluate(model, devices, tasks)";
  const LanguageModel model = language_model_of(given, where);
  std::vector<SessionRef> places;
  std::vector<std::shared_ptr<runtime::Session>> sessions;
  for (py::handle device : devices) {
    places.push_back(session_of(py::reinterpret_borrow<py::object>(device), where));
    sessions.push_back(places.back()->use());
  }
  ProgressFunction told(progress);
  return told.run([&] {
    const int64_t context =
        unwrap(model_interface_of(model.loaded->files.module.all_attrs())).context;
    std::vector<ScoredTask> tasks;
    for (const topdown::EvalTask& task : topdown::parse_tasks(text, file)) {
      tasks.push_back({task, topdown::encode_task(task, model.loaded->tokenizer, context, file)});
    }
    auto tell = told.callback();
    std::vector<Evaluation> evaluations;
    for (size_t i = 0; i < places.size(); ++i) {
      const target::Target& target = places[i]->target();
      CompileSettings settings;
      settings.cache = cache;
      auto compiled = compile(model.loaded->files.module, target, settings, places[i]);
      auto engine = unwrap(llm::Engine::create(unwrap(sessions[i]->open_vm(compiled->executable)),
                                               model.loaded->files.weights));
      engine->vm().set_interrupt(&interrupt_of_this_thread());
      evaluations.push_back(topdown::evaluate(*engine, tasks, [&](size_t task) {
        tell(target.text, static_cast<int64_t>(task), static_cast<int64_t>(tasks.size()));
      }));
      evaluations.back().target = target.text;
    }
    std::vector<std::string> documents;
    for (const Evaluation& one : evaluations) {
      std::optional<topdown::EvalComparison> comparison;
      if (reference) {
        comparison = topdown::compare_evaluations(tasks, one, evaluations.at(*reference));
      }
      documents.push_back(
          topdown::evaluation_json(tasks, one, comparison ? &*comparison : nullptr).dump());
    }
    return documents;
  });
}

}  // namespace

void bind_evaluate(py::module_& module) {
  module.def("evaluate", &evaluate, py::arg("model"), py::arg("devices"), py::arg("tasks"),
             py::arg("file"), py::arg("reference"), py::arg("cache"), py::arg("progress"));
}

}  // namespace tapml::python
