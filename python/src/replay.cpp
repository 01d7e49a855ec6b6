#include "app/commands/replay.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <mutex>
#include <set>

#include "base/strings.h"
#include "choices.h"
#include "ci_reports.h"
#include "executable.h"
#include "io/host/files.h"
#include "suite.h"
#include "topdown/replay/group_replay.h"
#include "topdown/report/report.h"
#include "topdown/report/report_parts.h"
#include "topdown/report/speed_table.h"
#include "topdown/report/verdict_lines.h"
#include "topdown/results/result_json.h"
#include "topdown/suite/coverage.h"
#include "topdown/suite/kernel_names.h"
#include "under_test.h"
#include "verdict.h"

namespace tapml::python {

namespace {

// A suite's kernels, compiled for a device.
class Replayer final : public Resource {
 public:
  struct State {
    State(std::shared_ptr<runtime::Session> used, const app::ReplayCommand& command,
          const app::CommandHooks& hooks)
        : session(std::move(used)), replay(command, hooks) {}
    const topdown::Suite& suite() const { return replay.suite(); }

    std::shared_ptr<runtime::Session> session;
    app::SuiteReplay replay;  // destroyed before the session
    DeviceInfo info;
    std::timed_mutex busy;
  };
  Replayer(SessionRef open, std::shared_ptr<State> state)
      : open_(std::move(open)), options_(state->replay.options_again()), state_(std::move(state)) {
    open_->add(this);
  }
  ~Replayer() override { open_->remove(this); }
  Replayer(const Replayer&) = delete;
  Replayer& operator=(const Replayer&) = delete;
  void drop() noexcept override { state_.reset(); }

  const SessionRef& open() const { return open_; }
  // Options for commands that do the same.
  const topdown::CommandOptions& options() const { return options_; }
  std::shared_ptr<State> use() const {
    if (!state_) throw_closed("replay");
    return state_;
  }

 private:
  SessionRef open_;
  topdown::CommandOptions options_;
  std::shared_ptr<State> state_;
};

int32_t find_kernel(const topdown::Suite& suite, const std::string& name) {
  return suite.find_kernel(
      topdown::find_kernel(topdown::kernel_names(suite), name, {"kernel", "the suite"}));
}

// `only`: the kernels to compile; empty: all.
std::unique_ptr<Replayer> make_replayer(const CarvedSuite& suite, const py::object& device,
                                        const std::string& kernels,
                                        const std::pair<std::string, std::string>& tolerance,
                                        const std::string& only, bool use_cache,
                                        const UnderTest& settings) {
  std::set<std::string> chosen;
  if (!only.empty()) {
    for (std::string& name :
         topdown::find_kernels(topdown::kernel_names(*suite.suite), only, {"only", "the suite"})) {
      chosen.insert(std::move(name));
    }
  }
  const SessionRef open = session_of(device, "Replayer(suite, device)");
  auto session = open->use();
  app::ReplayCommand command;
  command.suite = suite.suite;
  command.target = choice_of(*open, *session);
  command.kernels = kernels;
  command.tolerance = choice_of(tolerance);
  command.cache.off = !use_cache;
  command.isolation = isolation_of(settings, "Replayer(suite, device)");
  auto state = without_interpreter([&] {
    auto made = std::make_shared<Replayer::State>(session, command, interruptible_hooks());
    made->info = made->replay.sandbox().session().info();
    app::log_each(made->replay.warnings());
    made->replay.compile(chosen);
    made->replay.sandbox().runner();  // reports loading errors now
    return made;
  });
  return std::make_unique<Replayer>(open, std::move(state));
}

// `whole`: the whole suite was to be replayed, not one kernel of it.
topdown::Replayed replayed_of(const topdown::Suite& suite, const std::vector<Verdict>& verdicts,
                              bool whole) {
  topdown::Replayed replayed;
  replayed.incomplete = suite.incomplete;
  std::set<std::string> compared;
  for (const Verdict& one : verdicts) {
    if (const auto& group = one.verdict.group) {
      compared.insert(group->kernels.begin(), group->kernels.end());
    } else {
      compared.insert(one.verdict.kernel);
    }
    replayed.verdicts.push_back(one.verdict);
  }
  if (whole) {
    replayed.untested = topdown::untested_kernels(suite);
    return replayed;
  }
  for (const topdown::SuiteKernel& kernel : suite.kernels) {
    if (!compared.contains(kernel.name)) replayed.not_selected.push_back(kernel.name);
  }
  return replayed;
}

template <class Work>
Verdict run(const Replayer& replayer, Work&& work) {
  auto state = replayer.use();
  return without_interpreter([&] {
    std::unique_lock<std::timed_mutex> busy(state->busy, std::defer_lock);
    while (!busy.try_lock_for(std::chrono::milliseconds(100))) check_interrupt();
    // The poll belongs to the calling thread.
    state->replay.reference().set_poll(check_interrupt);
    return Verdict{unwrap(work(*state))};
  });
}

Verdict replay_kernel(const Replayer& replayer, const std::string& name) {
  auto state = replayer.use();
  const int32_t kernel = find_kernel(state->suite(), name);
  return run(replayer, [&](Replayer::State& on) {
    return topdown::replay_kernel(on.suite(), on.replay.reference(), kernel, on.replay.sandbox());
  });
}

Verdict replay_call(const Replayer& replayer, int64_t index) {
  auto state = replayer.use();
  const auto calls = static_cast<int64_t>(state->suite().calls.size());
  if (index < 0 || index >= calls) {
    throw_user("the suite has no such call", "call(index)", "0 to " + std::to_string(calls - 1),
               std::to_string(index));
  }
  return run(replayer, [&](Replayer::State& on) {
    return topdown::replay_call(on.suite(), on.replay.reference(), static_cast<size_t>(index),
                                on.replay.sandbox());
  });
}

Verdict replay_group(const Replayer& replayer, int64_t index) {
  auto state = replayer.use();
  const auto groups = std::ssize(state->suite().groups);
  if (index < 0 || index >= groups) {
    throw_user("the suite has no such group", "group(index)",
               groups == 0 ? "a suite with groups" : "0 to " + std::to_string(groups - 1),
               std::to_string(index));
  }
  return run(replayer, [&](Replayer::State& on) {
    return topdown::replay_group(on.suite(), on.replay.reference(), static_cast<size_t>(index),
                                 on.replay.sandbox());
  });
}

std::string text_of(const Verdict& verdict) {
  const topdown::KernelVerdict& v = verdict.verdict;
  std::string text = (v.group ? topdown::test_name(v) + ", " : "") + v.kernel + ": ";
  const std::string note = v.note.empty() ? "" : "; " + v.note;
  if (v.failed != topdown::Failure::kNone) {
    return text + topdown::failure_name(v.failed) + ": " + v.failure + note;
  }
  char numbers[160];
  std::snprintf(numbers, sizeof numbers, "largest error %.3g, %.3g of what is allowed (%.3g)",
                v.worst.target.max_abs, v.worst.target.max_ratio, v.worst.allowed);
  text += (v.passed ? "pass; " : "mismatch; ") + std::string(numbers);
  if (!v.worst_output.empty()) {
    text += ", in " + v.worst_output + " of call " + std::to_string(v.worst_sequence);
    if (v.worst.target.worst >= 0) {
      text += " at element " + std::to_string(v.worst.target.worst);
    }
  }
  if (v.worst.target.mask_mismatches > 0) {
    text += "; " + std::to_string(v.worst.target.mask_mismatches) +
            " elements are NaN or infinite on one side only";
  }
  if (v.source_wrong) text += "; " + topdown::source_text(v);
  text += note;
  if (v.against_source) text += "; held against the source alone";
  if (!v.origin.layers.empty()) text += "; layers: " + layers_summary(v.origin);
  return text;
}

}  // namespace

py::object parsed(const Json& json) {
  return py::module_::import("json").attr("loads")(json.dump());
}

void bind_replay(py::module_& module) {
  using Kernel = topdown::KernelVerdict;
  auto of = [](auto member) { return [member](const Verdict& v) { return v.verdict.*member; }; };
  py::class_<Verdict>(
      module, "Verdict", py::is_final(),
      "The results of a kernel's tests, compared with the reference (docs/verdicts.md).")
      .def_property_readonly("kernel", of(&Kernel::kernel),
                             "Name of the kernel; for a group, all names joined by \" + \".")
      .def_property_readonly(
          "group",
          [](const Verdict& v) {
            return v.verdict.group ? std::optional(v.verdict.group->index) : std::nullopt;
          },
          "Index of the group in the suite; None for a single kernel.")
      .def_property_readonly("passed", of(&Kernel::passed))
      .def_property_readonly(
          "proven", [](const Verdict& v) { return v.verdict.proven(); },
          "Whether it passed, and each output has an element with a bound.")
      .def_property_readonly("calls", of(&Kernel::calls), "Number of tests run.")
      .def_property_readonly("layers",
                             [](const Verdict& v) { return text_tuple(v.verdict.origin.layers); })
      .def_property_readonly(
          "lines", [](const Verdict& v) { return text_tuple(v.verdict.origin.lines); },
          "Lines of the blocks that made the kernel: 'src/models/blocks/linear.cpp:20'.")
      .def_property_readonly("provider", of(&Kernel::provider), "How the device implements it.")
      .def_property_readonly("failure", of(&Kernel::failure),
                             "Why it could not run; empty if it ran.")
      .def_property_readonly("source_wrong", of(&Kernel::source_wrong))
      .def_property_readonly("against_source", of(&Kernel::against_source))
      .def_property_readonly(
          "compared", [](const Verdict& v) { return v.verdict.total().compared; },
          "Number of elements compared.")
      .def_property_readonly(
          "open", [](const Verdict& v) { return v.verdict.total().open; },
          "Number of compared elements without a bound: any value is right.")
      .def_property_readonly("elements",
                             [](const Verdict& v) { return v.verdict.total().elements; })
      .def_property_readonly("seconds", of(&Kernel::seconds))
      .def_property_readonly("worst_output", of(&Kernel::worst_output))
      .def_property_readonly("worst_sequence", of(&Kernel::worst_sequence))
      .def_property_readonly("worst_element",
                             [](const Verdict& v) { return v.verdict.worst.target.worst; })
      .def_property_readonly("tolerated", of(&Kernel::tolerated),
                             "Whether it passes only with a tolerance.")
      .def_property_readonly("allowances", of(&Kernel::allowances),
                             "The allowances of the target that it needs, or fails with: "
                             "``\"precision=tf32\"``; empty: none.")
      .def_property_readonly("note", of(&Kernel::note), "Additional information for the reader.")
      .def_property_readonly(
          "source_max_abs", [](const Verdict& v) { return v.verdict.worst.source.max_abs; },
          "Largest distance of the source's own output from the reference, over the worst output.")
      .def_property_readonly(
          "max_abs", [](const Verdict& v) { return v.verdict.worst.target.max_abs; },
          "Largest distance from the reference, over the worst output.")
      .def_property_readonly(
          "allowed", [](const Verdict& v) { return v.verdict.worst.allowed; },
          "The bound for the worst element.")
      .def_property_readonly("error_over_bound",
                             [](const Verdict& v) { return v.verdict.worst.target.max_ratio; })
      .def(
          "to_dict", [](const Verdict& v) { return parsed(topdown::verdict_json(v.verdict)); },
          "The verdict in the output of ``tapml replay --json``.")
      .def("__str__", &text_of)
      .def("__repr__", [](const Verdict& v) { return "<tapml.Verdict " + text_of(v) + ">"; });
  py::class_<Replayer>(module, "Replayer", py::is_final(),
                       "A suite's kernels, compiled for a device: runs its tests one by one.")
      .def(py::init(
               [](const CarvedSuite& suite, const py::object& device, const std::string& kernels,
                  const std::pair<std::string, std::string>& tolerance, const std::string& only,
                  bool cache, bool in_process, double kernel_timeout) {
                 return make_replayer(suite, device, kernels, tolerance, only, cache,
                                      {in_process, kernel_timeout});
               }),
           py::arg("suite"), py::arg("device"), py::kw_only(), py::arg("custom_kernels") = "",
           py::arg("tolerance") = std::pair<std::string, std::string>(), py::arg("only") = "",
           py::arg("cache") = true, py::arg("in_process") = false, py::arg("kernel_timeout") = 30.0,
           "``custom_kernels``: a folder of custom kernels; ``tolerance``: the text of a file of "
           "tolerances and its name; ``only``: the kernels to compile.")
      .def(
          "kernel", &replay_kernel, py::arg("name"),
          "Runs all tests of one kernel, given by its name, the beginning of it, or a pattern with "
          "``*`` and ``?``.")
      .def("call", &replay_call, py::arg("index"), "Runs one test.")
      .def("group", &replay_group, py::arg("index"),
           "Runs the calls of one group in order and compares the group's outputs.")
      .def_property_readonly("device", [](const Replayer& r) { return r.open(); });
  module.def(
      "save_replay_report",
      [](const Replayer& replayer, const std::string& suite, const std::vector<Verdict>& verdicts,
         bool whole, double seconds, const std::string& folder, const std::string& model) {
        auto state = replayer.use();
        topdown::CommandOptions again = replayer.options();
        again.model = model;
        without_interpreter([&] {
          topdown::Replayed replayed = replayed_of(state->suite(), verdicts, whole);
          replayed.suite = suite;
          replayed.target = replayer.open()->target().text;
          replayed.target_info = state->info;
          {
            const std::lock_guard<std::timed_mutex> busy(state->busy);
            state->replay.complete(replayed);
          }
          replayed.seconds = seconds;
          replayed.run = topdown::run_facts(suite, state->suite());
          const std::string command = topdown::replay_command(suite, replayed.target, "", again);
          unwrap(make_folder(folder));
          unwrap(write_text_atomic(folder + "/report.html",
                                   topdown::replay_html(replayed, command, again)));
          Json json = topdown::replayed_json(replayed);
          json.set("run", topdown::run_json(replayed.run, command));
          unwrap(write_text_atomic(folder + "/report.json", json.dump(1) + "\n"));
        });
      },
      py::arg("replayer"), py::arg("suite"), py::arg("verdicts"), py::arg("whole"),
      py::arg("seconds"), py::arg("folder"), py::arg("model"));
  module.def(
      "replay_verdict",
      [](const CarvedSuite& suite, const std::vector<Verdict>& verdicts, bool whole) {
        const topdown::Replayed replayed = replayed_of(*suite.suite, verdicts, whole);
        return std::tuple(topdown::verdict_word(replayed.verdict()),
                          topdown::verdict_line(replayed).text(),
                          py::tuple(py::cast(topdown::names_of(replayed.untested))));
      },
      py::arg("suite"), py::arg("verdicts"), py::arg("whole"));
  module.def(
      "save_ci_reports",
      [](const std::string& title, const CarvedSuite& suite, const std::string& target,
         const std::vector<Verdict>& verdicts, bool whole, const std::string& junit,
         const std::string& markdown) {
        without_interpreter([&] {
          topdown::Replayed replayed = replayed_of(*suite.suite, verdicts, whole);
          replayed.target = target;
          write_ci_reports(topdown::ci_report(title, replayed), junit, markdown);
        });
      },
      py::arg("title"), py::arg("suite"), py::arg("target"), py::arg("verdicts"), py::arg("whole"),
      py::arg("junit"), py::arg("markdown"));
}

}  // namespace tapml::python
