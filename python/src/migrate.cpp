#include "topdown/migrate/migrate.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include <exception>

#include "io/host/files.h"
#include "language_model.h"
#include "session.h"
#include "topdown/report/report.h"
#include "verdict.h"

namespace tapml::python {

namespace {

struct Migrated {
  topdown::Migration migration;
  topdown::ReportTexts texts;
};

std::unique_ptr<Migrated> migrate(const py::object& given, const py::object& source,
                                  const py::object& target, const std::string& prompt,
                                  int64_t max_tokens, const std::string& plant,
                                  const py::object& progress) {
  const LanguageModel model = language_model_of(given, "migrate(model, source, target)");
  const SessionRef from = session_of(source, "migrate(model, source, target)");
  const SessionRef to = session_of(target, "migrate(model, source, target)");
  if (max_tokens < 1) {
    throw_user("nothing to compare", "migrate(max_tokens=...)", "1 or more",
               std::to_string(max_tokens));
  }
  auto source_session = from->use();
  auto target_session = to->use();
  std::exception_ptr raised;
  auto work = [&] {
    auto made = std::make_unique<Migrated>();
    topdown::MigrateOptions options;
    options.max_tokens = max_tokens;
    options.eos = model.loaded->files.eos;
    options.plant = plant;
    options.cancelled = [] { return interrupt_of_this_thread().load(); };
    options.interrupt = &interrupt_of_this_thread();
    options.progress = [&](const std::string& step, int64_t done, int64_t total) {
      check_interrupt();
      if (progress.is_none()) return;
      py::gil_scoped_acquire locked;
      try {
        progress(step, done, total);
      } catch (const py::error_already_set&) {
        raised = std::current_exception();
      }
      if (raised) throw_platform(PlatformFault::kCancelled, "the progress function raised");
    };
    const std::vector<int32_t> tokens = app::encode_prompt(*model.loaded, prompt);
    made->migration = topdown::migrate(model.loaded->files.module, model.loaded->files.weights,
                                       tokens, {from->target(), source_session.get()},
                                       {to->target(), target_session.get()}, options);
    made->texts.model = model.folder;
    made->texts.prompt = prompt;
    made->texts.source_text = model.loaded->tokenizer.decode(made->migration.source_tokens);
    made->texts.target_text = model.loaded->tokenizer.decode(made->migration.target_tokens);
    made->texts.command = "tapml migrate " + model.folder + " --from " + from->target().text +
                          " --to " + to->target().text;
    return made;
  };
  try {
    return without_interpreter(work);
  } catch (const CompilerException&) {
    if (raised) std::rethrow_exception(raised);
    throw;
  }
}

void save_report(const Migrated& migrated, const std::string& folder) {
  without_interpreter([&] {
    unwrap(make_folder(folder));
    unwrap(write_text_atomic(folder + "/report.html",
                             topdown::migration_html(migrated.migration, migrated.texts)));
    unwrap(write_text_atomic(folder + "/report.json",
                             topdown::migration_json(migrated.migration).dump(1) + "\n"));
  });
}

}  // namespace

void bind_migrate(py::module_& module) {
  using Step = topdown::MigrationStep;
  py::class_<Step>(module, "MigrationStep", py::is_final(), "What became of one kernel.")
      .def_property_readonly("kernel", [](const Step& s) { return s.verdict.kernel; })
      .def_property_readonly("verdict", [](const Step& s) { return Verdict{s.verdict}; })
      .def_property_readonly("outcome", &topdown::outcome_of,
                             "``\"migrated\"``, ``\"differs\"``, ``\"hybrid differs\"``, ...")
      .def_readonly("migrated", &Step::migrated, "Else the kernel stays on the source.")
      .def_readonly("dispatched", &Step::dispatched,
                    "Kernel calls that ran on the target in the hybrid run.")
      .def("__repr__", [](const Step& s) {
        return "<tapml.MigrationStep " + s.verdict.kernel + ": " + topdown::outcome_of(s) + ">";
      });
  py::class_<Migrated>(module, "Migration", py::is_final(),
                       "A model moved to another platform, kernel by kernel.")
      .def_property_readonly("passed", [](const Migrated& m) { return m.migration.passed(); })
      .def_property_readonly(
          "steps", [](const Migrated& m) { return m.migration.steps; },
          "In the order in which the kernels run.")
      .def_property_readonly(
          "culprits",
          [](const Migrated& m) {
            py::list names;
            for (const Step* step : m.migration.culprits()) {
              names.append(step->verdict.kernel);
            }
            return py::tuple(names);
          },
          "Names of the kernels that stay on the source.")
      .def_property_readonly(
          "target_ran", [](const Migrated& m) { return m.migration.target_ran; },
          "Whether the target ran the whole model.")
      .def_property_readonly("source_text", [](const Migrated& m) { return m.texts.source_text; })
      .def_property_readonly("target_text", [](const Migrated& m) { return m.texts.target_text; })
      .def_property_readonly("source_tokens",
                             [](const Migrated& m) { return m.migration.source_tokens; })
      .def_property_readonly("target_tokens",
                             [](const Migrated& m) { return m.migration.target_tokens; })
      .def_property_readonly(
          "first_divergence",
          [](const Migrated& m) -> py::object {
            if (m.migration.first_divergence < 0) return py::none();
            return py::int_(m.migration.first_divergence);
          },
          "The first token that differs; None where none does.")
      .def_property_readonly(
          "tie", [](const Migrated& m) { return m.migration.tie; },
          "Whether the tokens differ where the judge itself is undecided.")
      .def_property_readonly("seconds", [](const Migrated& m) { return m.migration.seconds; })
      .def(
          "to_dict", [](const Migrated& m) { return parsed(topdown::migration_json(m.migration)); },
          "As ``tapml migrate --json`` shows it.")
      .def("save_report", &save_report, py::arg("folder"),
           "Writes report.html and report.json into the folder.")
      .def("__repr__", [](const Migrated& m) {
        return std::string("<tapml.Migration from ") + m.migration.source + " to " +
               m.migration.target + (m.migration.passed() ? ", passed>" : ", not passed>");
      });
  module.def("migrate", &migrate, py::arg("model"), py::arg("source"), py::arg("target"),
             py::arg("prompt"), py::kw_only(), py::arg("max_tokens") = 64, py::arg("plant") = "",
             py::arg("progress") = py::none());
}

}  // namespace tapml::python
