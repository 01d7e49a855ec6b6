#include "app/commands/migrate.h"

#include <pybind11/functional.h>
#include <pybind11/stl.h>

#include "choices.h"
#include "ci_reports.h"
#include "io/host/files.h"
#include "language_model.h"
#include "path.h"
#include "progress.h"
#include "session.h"
#include "topdown/report/ci_report.h"
#include "topdown/report/layer_table.h"
#include "topdown/report/report_files.h"
#include "topdown/report/side_by_side.h"
#include "topdown/suite/coverage.h"
#include "under_test.h"
#include "verdict.h"

namespace tapml::python {

namespace {

// The migration to all targets, one or several.
using MigratedAll = app::Migrated;
using MigratedRef = std::shared_ptr<MigratedAll>;

// The migration to one target.
struct Migrated {
  MigratedRef all;
  size_t index = 0;

  const topdown::Migration& migration() const { return all->migrations.targets[index]; }
  const topdown::ReportTexts& texts() const { return all->texts.targets[index]; }
};

struct MigrateSettings {
  int64_t max_tokens, validation_tokens;
  SamplerTuple sampler;
  std::string order;
  std::vector<std::string> granularity;
  int64_t hybrid_every;
  bool stop_at_first;
  std::string state;
  std::pair<std::string, std::string> tolerance;
  std::string kernels, fault;
  bool cache, for_report;
  UnderTest under_test;
  std::optional<topdown::ImportCheck> import;
};

MigratedRef migrate(const py::object& given, const py::object& source,
                    const std::vector<py::object>& targets, const TextOrTexts& prompt,
                    const MigrateSettings& settings, const py::object& progress) {
  const char* where = "migrate(model, source, target)";
  const LanguageModel model = language_model_of(given, where);
  const SessionRef from = session_of(source, where);
  std::vector<SessionRef> to;
  for (const py::object& target : targets) to.push_back(session_of(target, where));
  if (to.empty()) throw_user("there is no target device", where, "a device, or several", "none");
  if (settings.max_tokens < 1) {
    throw_user("there are no tokens to compare", "migrate(max_tokens=...)", "1 or more",
               std::to_string(settings.max_tokens));
  }
  if (settings.validation_tokens < 0) {
    throw_user("the number of tokens is negative", "migrate(validation_tokens=...)", "0 or more",
               std::to_string(settings.validation_tokens));
  }
  app::MigrateCommand command;
  command.model = choice_of(model);
  // The work takes a reference to each session while it runs.
  std::vector<std::shared_ptr<runtime::Session>> sessions{from->use()};
  command.source = choice_of(*from, *sessions.back());
  for (const SessionRef& session : to) {
    sessions.push_back(session->use());
    command.targets.push_back(choice_of(*session, *sessions.back()));
  }
  static_cast<app::RunInput&>(command) = input_of(model, prompt, "migrate(prompt=...)");
  command.max_tokens = settings.max_tokens;
  command.validation_tokens = settings.validation_tokens;
  command.sampler = sampler_of(settings.sampler);
  command.order = settings.order;
  command.granularity = settings.granularity;
  command.hybrid_every = settings.hybrid_every;
  command.stop_at_first = settings.stop_at_first;
  command.state = settings.state;
  command.kernels = settings.kernels;
  command.fault = settings.fault;
  command.tolerance = choice_of(settings.tolerance);
  command.cache.off = !settings.cache;
  command.isolation = isolation_of(settings.under_test, where);
  command.for_report = settings.for_report;
  command.import = settings.import;
  ProgressFunction reporter(progress);
  return reporter.run([&] {
    auto made = std::make_shared<MigratedAll>(app::migrate(command, command_hooks(reporter)));
    app::log_each(made->warnings);
    return made;
  });
}

std::string title_of(const MigratedAll& all) {
  return "tapml migrate " + all.texts.targets[0].model + ": " + all.migrations.targets[0].source;
}

void save_migration_report(const Migrated& migrated, const Path& folder) {
  without_interpreter([&] {
    unwrap(make_folder(folder));
    topdown::ReportTexts texts = migrated.texts();
    texts.above.clear();  // the page has no parent
    unwrap(topdown::write_report(migrated.migration(), texts,
                                 topdown::migration_json(migrated.migration(), texts), folder));
  });
}

void save_migrations_report(const MigratedAll& all, const Path& folder) {
  without_interpreter([&] {
    unwrap(make_folder(folder));
    unwrap(topdown::write_report(all.migrations, all.texts, folder));
  });
}

void save_migration_ci_reports(const Migrated& migrated, const Path& junit, const Path& markdown) {
  without_interpreter([&] {
    write_ci_reports(
        topdown::ci_report(title_of(*migrated.all) + " to " + migrated.migration().target,
                           migrated.migration()),
        junit, markdown);
  });
}

void save_migrations_ci_reports(const MigratedAll& all, const Path& junit, const Path& markdown) {
  without_interpreter([&] {
    write_ci_reports(topdown::ci_reports(title_of(all), all.migrations), junit, markdown);
  });
}

py::dict outcomes_of(const MigratedAll& all) {
  py::dict kernels;
  for (const topdown::KernelRow& row : topdown::kernel_rows(all.migrations)) {
    py::dict outcomes;
    for (size_t t = 0; t < row.cells.size(); ++t) {
      outcomes[py::str(all.migrations.targets[t].target)] = row.cells[t].outcome;
    }
    kernels[py::str(row.kernel)] = outcomes;
  }
  return kernels;
}

}  // namespace

void bind_migrate(py::module_& module) {
  using Step = topdown::MigrationStep;
  py::class_<Step>(module, "MigrationStep", py::is_final(), "The outcome for one kernel.")
      .def_property_readonly("kernel", [](const Step& s) { return s.verdict.kernel; })
      .def_readonly("unit", &Step::unit,
                    "The unit that the kernel migrates with; its own name if alone.")
      .def_property_readonly("verdict", [](const Step& s) { return Verdict{s.verdict}; })
      .def_property_readonly("outcome", &topdown::outcome_of,
                             "``\"migrated\"``, ``\"mismatch\"``, ``\"hybrid mismatch\"``, ...")
      .def_readonly("migrated", &Step::migrated,
                    "Whether the kernel migrated; otherwise it stays on the source.")
      .def_readonly("dispatched", &Step::dispatched,
                    "Kernel calls that ran on the target in the hybrid run.")
      .def("__repr__", [](const Step& s) {
        return "<tapml.MigrationStep " + s.verdict.kernel + ": " + topdown::outcome_of(s) + ">";
      });
  using Layer = topdown::LayerStep;
  auto names = [](const std::vector<std::string>& all) { return py::tuple(py::cast(all)); };
  // The index of a hybrid run, if there was one.
  auto of_run = [](const Layer& layer, double value) -> py::object {
    if (layer.hybrid.positions == 0) return py::none();
    return py::float_(value);
  };
  py::class_<Layer>(module, "LayerStep", py::is_final(), "The outcome for one layer of the model.")
      .def_readonly("layer", &Layer::layer)
      .def_property_readonly(
          "kernels", [=](const Layer& l) { return names(l.kernels); },
          "The kernels called in the layer, in the order of their first calls.")
      .def_property_readonly(
          "left", [=](const Layer& l) { return names(l.left); },
          "Those of them that stay on the source in this layer.")
      .def_readonly("tried", &Layer::tried,
                    "Whether it was tried; otherwise the migration ended earlier.")
      .def_property_readonly(
          "max_abs", [=](const Layer& l) { return of_run(l, l.hybrid.max_abs); },
          "Largest error of the logits compared with the reference, with this layer and all before "
          "it on the target; None if no kernel of it migrated.")
      .def_property_readonly("bound", [=](const Layer& l) { return of_run(l, l.hybrid.bound); })
      .def_readonly("dispatched", &Layer::dispatched,
                    "Kernel calls that ran on the target in that run.")
      .def("__repr__", [](const Layer& l) {
        return "<tapml.LayerStep " + l.layer + ": " + topdown::layer_outcome(l) + ">";
      });
  py::class_<Migrated>(module, "Migration", py::is_final(),
                       "A model moved to another platform, kernel by kernel.")
      .def_property_readonly("passed", [](const Migrated& m) { return m.migration().passed(); })
      .def_property_readonly(
          "verdict",
          [](const Migrated& m) { return topdown::verdict_word(m.migration().verdict()); },
          "``\"PASS\"``, ``\"FAIL\"``, or ``\"NOT PROVEN\"`` if all tests pass but not everything "
          "was "
          "tested.")
      .def_property_readonly(
          "untested",
          [](const Migrated& m) {
            return py::tuple(py::cast(topdown::names_of(m.migration().untested)));
          },
          "Kernels that the target runs but the carved run did not call.")
      .def_property_readonly(
          "steps", [](const Migrated& m) { return m.migration().steps; },
          "One step for each kernel, in execution order.")
      .def_property_readonly(
          "layers", [](const Migrated& m) { return m.migration().layers; },
          "With the granularity ``layer-by-layer``: one step for each layer, in execution order.")
      .def_property_readonly(
          "culprits",
          [](const Migrated& m) {
            py::list names;
            for (const Step* step : m.migration().culprits()) {
              if (step->accused()) names.append(step->verdict.kernel);
            }
            return py::tuple(names);
          },
          "Names of the kernels that stay on the source, except for those that were merely on the "
          "target while the model was wrong in some of several runs.")
      .def_property_readonly(
          "untried", [](const Migrated& m) { return py::tuple(py::cast(m.migration().untried)); },
          "Kernels after the one that stopped the migration (``stop_at_first``).")
      .def_property_readonly(
          "resumed", [](const Migrated& m) { return m.migration().resumed; },
          "Number of steps that the state folder already had.")
      .def_property_readonly(
          "target_ran", [](const Migrated& m) { return m.migration().target_ran; },
          "Whether the target ran the whole model.")
      .def_property_readonly(
          "target", [](const Migrated& m) { return m.migration().target; },
          "The target device, as text.")
      .def_property_readonly(
          "error",
          [](const Migrated& m) -> py::object {
            if (!m.migration().error) return py::none();
            return py::str(m.migration().error->to_string());
          },
          "With several devices: the error that ended this one's migration early, or None.")
      .def_property_readonly("source_text", [](const Migrated& m) { return m.texts().source_text; })
      .def_property_readonly("target_text", [](const Migrated& m) { return m.texts().target_text; })
      .def_property_readonly("source_tokens",
                             [](const Migrated& m) { return m.migration().source_tokens; })
      .def_property_readonly("target_tokens",
                             [](const Migrated& m) { return m.migration().target_tokens; })
      .def_property_readonly(
          "first_divergence",
          [](const Migrated& m) -> py::object {
            if (m.migration().first_divergence < 0) return py::none();
            return py::int_(m.migration().first_divergence);
          },
          "Index of the first token that differs; None if all are equal.")
      .def_property_readonly(
          "tie", [](const Migrated& m) { return m.migration().tie; },
          "Whether the tokens differ where the reference itself is undecided.")
      .def_property_readonly("seconds", [](const Migrated& m) { return m.migration().seconds; })
      .def(
          "to_dict",
          [](const Migrated& m) { return parsed(topdown::migration_json(m.migration())); },
          "The output of ``tapml migrate --json``.")
      .def("save_report", &save_migration_report, py::arg("folder"),
           "Writes report.html, report.json and the failing calls into the folder.")
      .def("save_ci_reports", &save_migration_ci_reports, py::kw_only(), py::arg("junit") = "",
           py::arg("markdown") = "",
           "Writes JUnit XML (a case for each kernel and one for the whole model) and a Markdown "
           "summary to the given files.")
      .def("__repr__", [](const Migrated& m) {
        return std::string("<tapml.Migration from ") + m.migration().source + " to " +
               m.migration().target + (m.migration().passed() ? ", passed>" : ", not passed>");
      });
  py::class_<MigratedAll, MigratedRef>(module, "Migrations", py::is_final(),
                                       "A model moved to several platforms at once.")
      .def_property_readonly("passed", [](const MigratedAll& m) { return m.migrations.passed(); })
      .def_property_readonly(
          "verdict",
          [](const MigratedAll& m) { return topdown::verdict_word(m.migrations.verdict()); },
          "``\"FAIL\"`` if one device fails, else ``\"NOT PROVEN\"`` if one is not proven, "
          "else ``\"PASS\"``.")
      .def_property_readonly(
          "targets",
          [](const MigratedRef& m) {
            py::tuple targets(m->migrations.targets.size());
            for (size_t t = 0; t < targets.size(); ++t) targets[t] = py::cast(Migrated{m, t});
            return targets;
          },
          "A Migration for each device, in the given order.")
      .def_property_readonly(
          "outcomes", &outcomes_of,
          "By kernel, then by device: ``\"migrated\"``, ``\"mismatch\"``, ``\"not "
          "tried\"``, ...")
      .def_property_readonly("seconds", [](const MigratedAll& m) { return m.migrations.seconds; })
      .def(
          "to_dict",
          [](const MigratedAll& m) {
            return parsed(topdown::migrations_json(m.migrations, m.texts));
          },
          "The output of ``tapml migrate --json``.")
      .def("save_report", &save_migrations_report, py::arg("folder"),
           "Writes report.html and report.json for all devices, and a folder for each.")
      .def("save_ci_reports", &save_migrations_ci_reports, py::kw_only(), py::arg("junit") = "",
           py::arg("markdown") = "",
           "Writes JUnit XML (a suite per device) and a Markdown summary to the given files.")
      .def("__repr__", [](const MigratedAll& m) {
        return "<tapml.Migrations to " + std::to_string(m.migrations.targets.size()) +
               (m.migrations.passed() ? " devices, passed>" : " devices, not passed>");
      });
  module.def(
      "migrate",
      [](const py::object& model, const py::object& source, const std::vector<py::object>& targets,
         const TextOrTexts& prompt, int64_t max_tokens, int64_t validation_tokens,
         const SamplerTuple& sampler, const std::string& order,
         const std::vector<std::string>& granularity, int64_t hybrid_every, bool stop_at_first,
         const std::string& state, const std::pair<std::string, std::string>& tolerance,
         const std::string& kernels, const std::string& fault, bool cache, bool speed,
         bool in_process, double kernel_timeout, const std::optional<topdown::ImportCheck>& import,
         const py::object& progress) {
        return migrate(model, source, targets, prompt,
                       {max_tokens,
                        validation_tokens,
                        sampler,
                        order,
                        granularity,
                        hybrid_every,
                        stop_at_first,
                        state,
                        tolerance,
                        kernels,
                        fault,
                        cache,
                        speed,
                        {in_process, kernel_timeout},
                        import},
                       progress);
      },
      py::arg("model"), py::arg("source"), py::arg("targets"), py::arg("prompt"), py::kw_only(),
      py::arg("max_tokens"), py::arg("validation_tokens"), py::arg("sampler"), py::arg("order"),
      py::arg("granularity"), py::arg("hybrid_every"), py::arg("stop_at_first"), py::arg("state"),
      py::arg("tolerance"), py::arg("custom_kernels"), py::arg("inject_fault"), py::arg("cache"),
      py::arg("speed"), py::arg("in_process"), py::arg("kernel_timeout"),
      py::arg("compared_import").none(true), py::arg("progress"));
}

}  // namespace tapml::python
