#include "app/commands/localize.h"

#include <pybind11/stl.h>

#include "choices.h"
#include "ci_reports.h"
#include "io/host/files.h"
#include "language_model.h"
#include "path.h"
#include "progress.h"
#include "session.h"
#include "suite.h"
#include "topdown/report/localize_report.h"
#include "topdown/report/report_parts.h"
#include "topdown/results/result_json.h"
#include "topdown/suite/coverage.h"
#include "under_test.h"
#include "verdict.h"

namespace tapml::python {

namespace {

struct Localized : app::Localized {
  std::string model, target;
};

struct LocalizeSettings {
  int64_t max_tokens, repeats;
  SamplerTuple sampler;
  double shrink_seconds;
  std::pair<std::string, std::string> tolerance;
  std::string kernels;  // folder of custom kernels; empty: none
  std::vector<std::string> faults;
  bool cache;
  UnderTest under_test;
  std::optional<topdown::ImportCheck> import;
};

std::unique_ptr<Localized> localize(const py::object& given, const py::object& source,
                                    const py::object& target, const TextOrTexts& prompt,
                                    const CarvedSuite* suite, const LocalizeSettings& settings,
                                    const py::object& progress) {
  const char* where = "localize(model, source, target)";
  const LanguageModel model = language_model_of(given, where);
  const SessionRef from = session_of(source, where);
  const SessionRef to = session_of(target, where);
  if (settings.max_tokens < 0 || settings.repeats < 1 || !(settings.shrink_seconds >= 0) ||
      settings.shrink_seconds > 1e6) {
    throw_user("a number out of range", where,
               "max_tokens from 0, repeats from 1, shrink_seconds from 0 to 1e6",
               std::to_string(settings.max_tokens) + ", " + std::to_string(settings.repeats) +
                   ", " + std::to_string(settings.shrink_seconds));
  }
  auto source_session = from->use();
  auto target_session = to->use();
  app::LocalizeCommand command;
  command.model = choice_of(model);
  command.source = choice_of(*from, *source_session);
  command.target = choice_of(*to, *target_session);
  static_cast<app::RunInput&>(command) = input_of(model, prompt, "localize(prompt=...)");
  command.max_tokens = settings.max_tokens;
  command.cache.off = !settings.cache;
  command.isolation = isolation_of(settings.under_test, where);
  command.faults = settings.faults;
  if (suite) {
    command.suite = suite->suite;
    command.suite_folder = suite->folder;
  }
  command.sampler = sampler_of(settings.sampler);
  command.import = settings.import;
  command.repeats = settings.repeats;
  command.shrink_time =
      std::chrono::milliseconds(static_cast<int64_t>(settings.shrink_seconds * 1e3));
  command.kernels = settings.kernels;
  command.tolerance = choice_of(settings.tolerance);
  ProgressFunction reporter(progress);
  return reporter.run([&] {
    auto made = std::make_unique<Localized>(Localized{
        app::localize(command, command_hooks(reporter)), model.folder, to->target().text});
    app::log_each(made->warnings);
    return made;
  });
}

void save_localized_report(const Localized& found, const Path& folder) {
  without_interpreter([&] {
    unwrap(make_folder(folder));
    for (const topdown::Culprit& culprit : found.localization.culprits) {
      unwrap(topdown::write_reproducer(culprit, found.target, found.options,
                                       folder + "/" + culprit.kernel));
    }
    unwrap(
        write_text_atomic(folder + "/report.html",
                          topdown::localization_html(found.localization, found.model, found.shown,
                                                     found.command, found.options, found.run)));
    Json json = topdown::localization_json(found.localization);
    json.set("run", topdown::run_json(found.run, found.command));
    unwrap(write_text_atomic(folder + "/report.json", json.dump(1) + "\n"));
  });
}

void save_localized_ci_reports(const Localized& found, const Path& junit, const Path& markdown) {
  without_interpreter([&] {
    write_ci_reports(
        topdown::ci_report("tapml localize " + found.model + ": " + found.localization.source +
                               " to " + found.localization.target,
                           found.localization),
        junit, markdown);
  });
}

}  // namespace

void bind_localize(py::module_& module) {
  using topdown::Culprit;
  py::class_<Culprit>(module, "Culprit", py::is_final(),
                      "A kernel that makes a model wrong on the target.")
      .def_readonly("kernel", &Culprit::kernel)
      .def_property_readonly(
          "found_by", [](const Culprit& c) { return topdown::evidence_name(c.evidence); },
          "``\"replay\"``: a carved test fails; ``\"hybrid\"``: only a model with it is wrong; "
          "``\"target\"``: only the target's own run with it is wrong.")
      .def_property_readonly(
          "together_with", [](const Culprit& c) { return py::tuple(py::cast(c.together_with)); },
          "Other kernels that must be on the target for the model to be wrong.")
      .def_property_readonly(
          "same_preparation",
          [](const Culprit& c) { return py::tuple(py::cast(c.same_preparation)); },
          "With ``\"target\"``: culprits whose weights are packed by the same launches at load.")
      .def_property_readonly("verdict", [](const Culprit& c) { return Verdict{c.verdict}; })
      .def_readonly("runs", &Culprit::runs)
      .def_readonly("failed_runs", &Culprit::failed_runs,
                    "Number of ``runs`` in which it was wrong.")
      .def_property_readonly(
          "smallest",
          [](const Culprit& c) -> py::object {
            if (!c.smallest) return py::none();
            return py::cast(
                CarvedSuite{std::make_shared<const topdown::Suite>(c.smallest->suite), ""});
          },
          "The smallest failing call found, as a Suite of one test; None if no carved test fails.")
      .def_property_readonly(
          "loops", [](const Culprit& c) { return c.source.loops; },
          "The tensor program that the target runs, as text.")
      .def_property_readonly(
          "code", [](const Culprit& c) { return c.source.code; },
          "The same in the platform's language if that is text; else empty.")
      .def("__str__", [](const Culprit& c) { return topdown::culprit_text(c, false); })
      .def("__repr__", [](const Culprit& c) { return "<tapml.Culprit " + c.kernel + ">"; });
  py::class_<Localized>(module, "Localization", py::is_final(),
                        "Which kernels make a model wrong on a platform.")
      .def_property_readonly(
          "found", [](const Localized& l) { return l.localization.found(); },
          "Whether anything is wrong: a kernel, or the target's own run.")
      .def_property_readonly("culprits", [](const Localized& l) { return l.localization.culprits; })
      .def_property_readonly(
          "verdicts",
          [](const Localized& l) {
            py::list list;
            for (const auto& verdict : l.localization.verdicts) list.append(Verdict{verdict});
            return list;
          },
          "Verdicts on all kernels, in the order of their first calls.")
      .def_property_readonly(
          "untested",
          [](const Localized& l) {
            return py::tuple(py::cast(topdown::names_of(l.localization.untested)));
          },
          "Kernels that the target runs without a test.")
      .def_property_readonly(
          "verdict",
          [](const Localized& l) { return topdown::verdict_word(l.localization.verdict()); },
          "``\"PASS\"``, ``\"FAIL\"`` if something is wrong, or ``\"NOT PROVEN\"``: nothing was "
          "found, "
          "but not everything was tested.")
      .def_property_readonly("hybrid_runs",
                             [](const Localized& l) { return l.localization.hybrid_runs; })
      .def_property_readonly(
          "target_ran", [](const Localized& l) { return l.localization.target_ran; },
          "Whether the target ran the whole model alone, which it does if no kernel is at fault.")
      .def_property_readonly("seconds", [](const Localized& l) { return l.localization.seconds; })
      .def(
          "to_dict",
          [](const Localized& l) { return parsed(topdown::localization_json(l.localization)); },
          "The output of ``tapml localize --json``.")
      .def("save_report", &save_localized_report, py::arg("folder"),
           "Writes report.html, report.json and a folder with a reproducer for each culprit.")
      .def("save_ci_reports", &save_localized_ci_reports, py::kw_only(), py::arg("junit") = "",
           py::arg("markdown") = "", "Writes JUnit XML and a Markdown summary to the given files.")
      .def("__str__", [](const Localized& l) { return topdown::localization_text(l.localization); })
      .def("__repr__", [](const Localized& l) {
        return "<tapml.Localization: " + std::to_string(l.localization.culprits.size()) +
               " culprits>";
      });
  module.def(
      "localize",
      [](const py::object& model, const py::object& source, const py::object& target,
         const TextOrTexts& prompt, const CarvedSuite* suite, int64_t max_tokens, int64_t repeats,
         const SamplerTuple& sampler, double shrink_seconds,
         const std::pair<std::string, std::string>& tolerance, const std::string& kernels,
         const std::vector<std::string>& faults, bool cache, bool in_process, double kernel_timeout,
         const std::optional<topdown::ImportCheck>& import, const py::object& progress) {
        return localize(model, source, target, prompt, suite,
                        {max_tokens,
                         repeats,
                         sampler,
                         shrink_seconds,
                         tolerance,
                         kernels,
                         faults,
                         cache,
                         {in_process, kernel_timeout},
                         import},
                        progress);
      },
      py::arg("model"), py::arg("source"), py::arg("target"), py::arg("prompt"), py::kw_only(),
      py::arg("suite").none(true), py::arg("max_tokens"), py::arg("repeats"), py::arg("sampler"),
      py::arg("shrink_seconds"), py::arg("tolerance"), py::arg("custom_kernels"),
      py::arg("inject_faults"), py::arg("cache"), py::arg("in_process"), py::arg("kernel_timeout"),
      py::arg("compared_import").none(true), py::arg("progress"));
}

}  // namespace tapml::python
