#include "app/commands/check_import.h"

#include <pybind11/stl.h>

#include <utility>

#include "choices.h"
#include "path.h"
#include "progress.h"
#include "topdown/results/result_json.h"

namespace tapml::python {

namespace {

// Of a model directory, or, if that is empty, of a configuration with random weights.
struct CheckSettings {
  std::string config;
  uint64_t seed;
  std::string prompt;
  std::vector<int32_t> tokens;
  std::string python;
};

// The comparison as JSON, and as text.
std::pair<std::string, std::string> check_import(const std::string& model,
                                                 const CheckSettings& settings,
                                                 const py::object& progress) {
  ProgressFunction told(progress);
  app::CommandHooks hooks = command_hooks(told);
  hooks.watcher = [tell = hooks.progress](const Work& work) {
    if (tell) tell(std::string(work.what), work.done, work.total);
  };
  const topdown::ImportCheck import = told.run([&] {
    if (model.empty()) {
      return app::check_import(app::CheckConfigCommand{.config = settings.config,
                                                       .seed = settings.seed,
                                                       .python = settings.python,
                                                       .tokens = settings.tokens},
                               hooks);
    }
    return app::check_import(app::CheckImportCommand{.model = model,
                                                     .prompt = settings.prompt,
                                                     .python = settings.python,
                                                     .tokens = settings.tokens,
                                                     .warn = true},
                             hooks);
  });
  std::string text = import_text(import);
  for (const std::string& line : difference_texts(import)) text += "\n  " + line;
  return {topdown::import_json(import).dump(), text};
}

}  // namespace

void bind_check_import(py::module_& module) {
  module.def(
      "check_import",
      [](const Path& model, const Path& config, uint64_t seed, const std::string& prompt,
         const std::vector<int32_t>& tokens, const Path& python, const py::object& progress) {
        return check_import(model, {config, seed, prompt, tokens, python}, progress);
      },
      py::arg("model"), py::kw_only(), py::arg("config"), py::arg("seed"), py::arg("prompt"),
      py::arg("tokens"), py::arg("python"), py::arg("progress"));
}

}  // namespace tapml::python
