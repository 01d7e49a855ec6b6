#include "app/commands/check_import.h"

#include <pybind11/stl.h>

#include <tuple>

#include "choices.h"
#include "ci_reports.h"
#include "io/host/files.h"
#include "ir/exceptions.h"
#include "path.h"
#include "progress.h"
#include "topdown/report/ci_report.h"
#include "topdown/report/import_page.h"
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

// The comparison as JSON, as text, and as it is.
std::tuple<std::string, std::string, topdown::ImportCheck> check_import(
    const std::string& model, const CheckSettings& settings, const py::object& progress) {
  ProgressFunction reporter(progress);
  app::CommandHooks hooks = command_hooks(reporter);
  hooks.watcher = [tell = hooks.progress](const Work& work) {
    if (tell) tell(std::string(work.what), work.done, work.total);
  };
  const topdown::ImportCheck import = reporter.run([&] {
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
  return {topdown::import_json(import).dump(), text, import};
}

// The reports of a command that ends because the import differs; empty paths: none.
void save_import_reports(const topdown::ImportCheck& import, const std::string& command,
                         const std::string& model, const std::string& prompt,
                         const std::string& python, const Path& report, const Path& junit,
                         const Path& markdown) {
  without_interpreter([&] {
    const std::string& folder = report;
    if (!folder.empty()) {
      unwrap(make_folder(folder));
      unwrap(topdown::write_import_report(
          import, topdown::refused_import(import, command, model, prompt, python), folder));
    }
    write_ci_reports(topdown::ci_report("tapml " + command + " " + model, import), junit, markdown);
  });
}

}  // namespace

void bind_check_import(py::module_& module) {
  // What Python passes on to the functions that report it.
  [[maybe_unused]] const py::class_<topdown::ImportCheck> compared(module, "ComparedImport",
                                                                   py::is_final());
  module.def("save_import_reports", &save_import_reports, py::arg("compared"), py::arg("command"),
             py::arg("model"), py::arg("prompt"), py::arg("python"), py::arg("report"),
             py::arg("junit"), py::arg("markdown"));
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
