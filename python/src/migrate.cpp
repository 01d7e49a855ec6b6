#include "topdown/migrate/migrate.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "app/cache.h"
#include "ci_reports.h"
#include "io/host/files.h"
#include "judging.h"
#include "language_model.h"
#include "progress.h"
#include "session.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "under_test.h"
#include "verdict.h"

namespace tapml::python {

namespace {

struct Migrated {
  topdown::Migration migration;
  topdown::ReportTexts texts;
};

struct MigrateSettings {
  int64_t max_tokens, validation_tokens;
  SamplerTuple sampler;
  std::string order;
  std::vector<std::string> granularity;
  bool stop_at_first;
  std::string state;
  std::pair<std::string, std::string> tolerance;
  std::string kernels, plant;
  bool cache, measure_speed;
  UnderTest under_test;
};

std::unique_ptr<Migrated> migrate(const py::object& given, const py::object& source,
                                  const py::object& target, const std::string& prompt,
                                  const MigrateSettings& settings, const py::object& progress) {
  const LanguageModel model = language_model_of(given, "migrate(model, source, target)");
  const SessionRef from = session_of(source, "migrate(model, source, target)");
  const SessionRef to = session_of(target, "migrate(model, source, target)");
  if (settings.max_tokens < 1) {
    throw_user("nothing to compare", "migrate(max_tokens=...)", "1 or more",
               std::to_string(settings.max_tokens));
  }
  if (settings.validation_tokens < 0) {
    throw_user("a negative number of tokens", "migrate(validation_tokens=...)", "0 or more",
               std::to_string(settings.validation_tokens));
  }
  const app::IsolationOptions isolation =
      isolation_of(settings.under_test, "migrate(model, source, target)");
  auto source_session = from->use();
  auto target_session = to->use();
  ProgressFunction told(progress);
  return told.run([&] {
    auto made = std::make_unique<Migrated>();
    const ToleranceText tolerance = tolerance_text_of(settings.tolerance);
    app::CacheOptions caching;
    caching.off = !settings.cache;
    app::CompileCache cache(caching);
    topdown::MigrateOptions options;
    options.max_tokens = settings.max_tokens;
    options.validation_tokens = settings.validation_tokens;
    options.sampler = sampler_of(settings.sampler);
    options.plan = topdown::parse_plan(settings.order, settings.granularity);
    options.stop_at_first = settings.stop_at_first;
    options.state = settings.state;
    if (!settings.state.empty()) unwrap(make_folder(settings.state));
    options.tolerances = tolerance.parse();
    options.user_sources = sources_of(settings.kernels, to->target());
    options.cache = cache.kernels();
    options.measure_speed = settings.measure_speed;
    options.eos = model.loaded->files.eos;
    options.plant = settings.plant;
    options.cancelled = [] { return interrupt_of_this_thread().load(); };
    options.interrupt = &interrupt_of_this_thread();
    options.progress = told.callback();
    const std::vector<int32_t> tokens = app::encode_prompt(*model.loaded, prompt);
    made->migration =
        topdown::migrate(model.loaded->files.module, model.loaded->files.weights, tokens,
                         {from->target(), source_session.get()},
                         platform_under_test(*to, *target_session, isolation), options);
    std::set<std::string> kernels(made->migration.untried.begin(), made->migration.untried.end());
    for (const topdown::MigrationStep& step : made->migration.steps) {
      kernels.insert(step.verdict.kernel);
    }
    tolerance.warn_unused(options.tolerances, kernels);
    made->texts.model = model.folder;
    made->texts.prompt = prompt;
    made->texts.source_text = model.loaded->tokenizer.decode(made->migration.source_tokens);
    made->texts.target_text = model.loaded->tokenizer.decode(made->migration.target_tokens);
    topdown::CommandOptions& again = made->texts.options;
    again = options_of_commands(*to, settings.kernels, tolerance, isolation);
    again.quantize = model.quantize;
    again.max_tokens = settings.max_tokens;
    again.sampler = options.sampler;
    if (!settings.plant.empty()) again.plants = {settings.plant};
    made->texts.command = topdown::model_command("migrate", model.folder, from->target().text,
                                                 to->target().text, prompt, again) +
                          " --validation-tokens " + std::to_string(settings.validation_tokens);
    again.max_tokens = settings.validation_tokens;
    // save_report() writes them beside the page.
    made->texts.failures = true;
    return made;
  });
}

void save_migration_report(const Migrated& migrated, const std::string& folder) {
  without_interpreter([&] {
    unwrap(make_folder(folder));
    unwrap(topdown::write_failures(migrated.migration, folder));
    unwrap(write_text_atomic(folder + "/report.html",
                             topdown::migration_html(migrated.migration, migrated.texts)));
    unwrap(write_text_atomic(folder + "/report.json",
                             topdown::migration_json(migrated.migration).dump(1) + "\n"));
  });
}

void save_migration_ci_reports(const Migrated& migrated, const std::string& junit,
                               const std::string& markdown) {
  without_interpreter([&] {
    write_ci_reports(
        topdown::ci_report("tapml migrate " + migrated.texts.model + ": " +
                               migrated.migration.source + " to " + migrated.migration.target,
                           migrated.migration),
        junit, markdown);
  });
}

}  // namespace

void bind_migrate(py::module_& module) {
  using Step = topdown::MigrationStep;
  py::class_<Step>(module, "MigrationStep", py::is_final(), "What became of one kernel.")
      .def_property_readonly("kernel", [](const Step& s) { return s.verdict.kernel; })
      .def_readonly("unit", &Step::unit, "What the kernel moved with: by its own name, alone.")
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
          "untried", [](const Migrated& m) { return py::tuple(py::cast(m.migration.untried)); },
          "Kernels behind the one that ended it (``stop_at_first``).")
      .def_property_readonly(
          "resumed", [](const Migrated& m) { return m.migration.resumed; },
          "Steps that the state folder had already.")
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
      .def("save_report", &save_migration_report, py::arg("folder"),
           "Writes report.html, report.json and the failing calls into the folder.")
      .def("save_ci_reports", &save_migration_ci_reports, py::kw_only(), py::arg("junit") = "",
           py::arg("markdown") = "",
           "Writes JUnit XML (one case a kernel, one for the whole model) and a summary in "
           "Markdown, whichever is named.")
      .def("__repr__", [](const Migrated& m) {
        return std::string("<tapml.Migration from ") + m.migration.source + " to " +
               m.migration.target + (m.migration.passed() ? ", passed>" : ", not passed>");
      });
  module.def(
      "migrate",
      [](const py::object& model, const py::object& source, const py::object& target,
         const std::string& prompt, int64_t max_tokens, int64_t validation_tokens,
         const SamplerTuple& sampler, const std::string& order,
         const std::vector<std::string>& granularity, bool stop_at_first, const std::string& state,
         const std::pair<std::string, std::string>& tolerance, const std::string& kernels,
         const std::string& plant, bool cache, bool speed, bool in_process, double kernel_timeout,
         const py::object& progress) {
        return migrate(model, source, target, prompt,
                       {max_tokens,
                        validation_tokens,
                        sampler,
                        order,
                        granularity,
                        stop_at_first,
                        state,
                        tolerance,
                        kernels,
                        plant,
                        cache,
                        speed,
                        {in_process, kernel_timeout}},
                       progress);
      },
      py::arg("model"), py::arg("source"), py::arg("target"), py::arg("prompt"), py::kw_only(),
      py::arg("max_tokens"), py::arg("validation_tokens"), py::arg("sampler"), py::arg("order"),
      py::arg("granularity"), py::arg("stop_at_first"), py::arg("state"), py::arg("tolerance"),
      py::arg("kernels"), py::arg("plant"), py::arg("cache"), py::arg("speed"),
      py::arg("in_process"), py::arg("kernel_timeout"), py::arg("progress"));
}

}  // namespace tapml::python
