#include "suite.h"

#include <pybind11/stl.h>

#include <filesystem>
#include <tuple>
#include <variant>

#include "app/commands/carve_runs.h"
#include "app/executable.h"
#include "app/model.h"
#include "base/log.h"
#include "base/strings.h"
#include "choices.h"
#include "executable.h"
#include "language_model.h"
#include "llm/engine.h"
#include "path.h"
#include "runtime/local_virtual_machine.h"
#include "topdown/replay/edge_cases.h"
#include "topdown/suite/carve.h"
#include "topdown/suite/coverage.h"
#include "topdown/suite/kernel_names.h"
#include "under_test.h"
#include "values.h"

namespace tapml::python {

namespace {

struct SuiteKernel {
  std::shared_ptr<const topdown::Suite> suite;
  size_t index = 0;
  const topdown::SuiteKernel& get() const { return suite->kernels[index]; }
};

CarvedSuite load_carved(const Path& folder, const Path& model) {
  return without_interpreter([&] {
    return CarvedSuite{
        std::make_shared<const topdown::Suite>(unwrap(topdown::load_suite(folder, model))), folder};
  });
}

void save_carved(const CarvedSuite& suite, const Path& folder) {
  without_interpreter([&] { return topdown::save_suite(*suite.suite, folder); });
}

// The suite; warns of wrong results of the source for edge cases, and of NaN in its own run.
CarvedSuite finished(app::Carved carved) {
  if (const auto& nan = carved.nan) {
    log_warning("NaN in the source's own run: " + nan->kernel +
                (nan->origin.layers.empty() ? "" : " (" + layers_summary(nan->origin) + ")") +
                ", call " + std::to_string(nan->sequence) + ", output " + nan->output +
                "; later tests prove little");
  }
  for (const std::string& text : carved.edge.unsupported) {
    log_warning("edge case left out: " + text);
  }
  return {std::make_shared<const topdown::Suite>(std::move(carved.suite)), ""};
}

// Carves into memory.
app::CarveCommand carve_command(int64_t calls, int64_t budget) {
  if (calls < 0) {
    throw_user("the number of calls is negative", "carve(calls=...)", "0 (all of them) or more",
               std::to_string(calls));
  }
  if (budget < 0) {
    throw_user("the budget is negative", "carve(budget=...)", "bytes, or 0 for no limit",
               std::to_string(budget));
  }
  app::CarveCommand command;
  command.calls = calls;
  command.budget_bytes = budget;
  return command;
}

app::CommandHooks carve_hooks() {
  app::CommandHooks hooks = interruptible_hooks();
  hooks.interrupt = &interrupt_of_this_thread();
  return hooks;
}

// A text or its token ids.
using Prompt = std::variant<std::string, std::vector<int32_t>>;

// Token ids that the tokenizer would not make of their text, with a quantized model.
void warn_of_random_tokens(const LanguageModel& model, const std::vector<Prompt>& prompts) {
  if (model.format.quantize.empty()) return;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto* ids = std::get_if<std::vector<int32_t>>(&prompts[i]);
    if (!ids) continue;
    const Tokenizer& tokenizer = model.loaded->tokenizer;
    const auto again = tokenizer.encode(tokenizer.decode(*ids));
    if (again && *again == *ids) continue;
    log_warning(
        "prompt " + std::to_string(i) + " has token ids that no text gives, and the model is " +
        "quantized (" + model.format.quantize +
        "): verdicts on such values are unreliable; carve the model while it continues a text");
  }
}

// A language model on an open device, and how it is carved.
struct ModelRun {
  LanguageModel model;
  SessionRef open;
  std::shared_ptr<runtime::Session> session;
  app::CarveCommand command;
};

ModelRun model_run(const py::object& given, const py::object& device, app::CarveCommand command,
                   bool reference, bool cache) {
  ModelRun run{language_model_of(given, "carve(model, device)"),
               session_of(device, "carve(model, device)"), nullptr, std::move(command)};
  run.session = run.open->use();
  run.command.model = model_options_of(run.model, cache);
  set_platform(run.command.model, *run.open, *run.session);
  if (reference) run.command.weights = "reference";
  if (!reference || !app::is_compiled(run.model.folder)) return run;
  throw_user("weights by reference are found in a model directory", "carve(weights=...)",
             "a model directory", run.model.folder, "weights=\"inside\"");
}

CarvedSuite carve_model(const py::object& given, const py::object& device,
                        const std::vector<Prompt>& prompts, int64_t max_tokens,
                        const SamplerTuple& sampler, int64_t calls, int64_t budget, bool reference,
                        int64_t batch, bool edge, bool as_run, bool cache) {
  ModelRun run = model_run(given, device, carve_command(calls, budget), reference, cache);
  const LanguageModel& model = run.model;
  if (batch < 1) {
    throw_user("the batch is empty", "carve(batch=...)", "1 or more", std::to_string(batch));
  }
  if (max_tokens < 0) {
    throw_user("the number of tokens is negative", "carve(max_tokens=...)", "0 or more",
               std::to_string(max_tokens));
  }
  run.command.max_tokens = max_tokens;
  run.command.batch = batch;
  run.command.edge = edge;
  run.command.as_run = as_run;
  run.command.sampler = sampler_of(sampler);
  if (model.is_encoder()) run.command.model.use = app::ModelUse::kEmbed;
  return without_interpreter([&] {
    llm::TextInputs without_images;
    for (const Prompt& prompt : prompts) {
      const auto* text = std::get_if<std::string>(&prompt);
      if (!text) {
        run.command.tokens.push_back(std::get<std::vector<int32_t>>(prompt));
      } else if (model.is_encoder()) {
        run.command.tokens.push_back(unwrap(model.loaded->tokenizer.encode(*text)));
      } else {
        run.command.tokens.push_back(app::encode_prompt(*model.loaded, *text, without_images));
      }
    }
    CarvedSuite suite = finished(model.is_encoder() ? app::carve_encoder(run.command, carve_hooks())
                                                    : app::carve_model(run.command, carve_hooks()));
    warn_of_random_tokens(model, prompts);
    return suite;
  });
}

// Throws for non-finite logits.
int32_t most_likely(llm::Engine& engine, const runtime::Tensor& logits) {
  const HostTensor row = unwrap(runtime::download(logits));
  unwrap(engine.check_logits(row));
  HostTensor unused;
  return unwrap(llm::sample_token(row.values<float>(), {}, unused));
}

// A prompt and `decode` steps, each with the most likely token, even after an end of the text.
// Returns the suite, the tokens of the steps, and the index of each step's first call.
std::tuple<CarvedSuite, std::vector<int32_t>, std::vector<size_t>> carve_steps(
    const py::object& given, const py::object& device, const std::vector<int32_t>& tokens,
    int64_t decode, bool reference, bool cache) {
  ModelRun run = model_run(given, device, carve_command(0, 0), reference, cache);
  return without_interpreter([&] {
    std::vector<int32_t> steps;
    std::vector<size_t> begins;
    const app::CommandHooks hooks = carve_hooks();
    app::CarvedModel carved = app::open_carved(run.command, hooks);
    carved.options.functions = {"prefill", "decode"};
    const app::CarveRun generate = [&](const topdown::Carver& carver) -> Status {
      llm::Engine& engine = *carved.runner->engine();
      TAPML_TRY(engine.clear());
      TAPML_ASSIGN(runtime::Tensor logits, engine.prefill(tokens));
      for (int64_t step = 0; step < decode; ++step) {
        TAPML_ASSIGN(const int32_t token, guard([&] { return most_likely(engine, logits); }));
        steps.push_back(token);
        begins.push_back(carver.suite().calls.size());
        TAPML_ASSIGN(logits, engine.decode(token));
      }
      TAPML_ASSIGN([[maybe_unused]] HostTensor last, runtime::download(logits));  // waits for it
      return {};
    };
    CarvedSuite suite = finished(app::carve_runs(carved, run.command, {generate}, hooks));
    warn_of_random_tokens(run.model, {tokens});
    return std::tuple(std::move(suite), std::move(steps), std::move(begins));
  });
}

CarvedSuite carve_function(const Compiled& compiled, const py::object& device,
                           const std::string& name, const py::sequence& inputs, int64_t calls,
                           int64_t budget, bool edge, bool in_process, double kernel_timeout,
                           int64_t step_limit) {
  constexpr const char* kWhere = "carve(executable, device)";
  const SessionRef open = session_for(compiled, device, kWhere);
  const app::IsolationOptions isolation = isolation_of({in_process, kernel_timeout}, kWhere);
  app::CarveCommand command = carve_command(calls, budget);
  command.edge = edge;
  command.model.libraries = open->libraries();
  command.model.remote = open->remote();
  command.model.isolation = isolation;
  command.model.step_limit = step_limit;
  const VmFunction* function = compiled.executable->find_function(name);
  if (!function) {
    std::string names;
    for (const VmFunction& one : compiled.executable->functions) {
      names += (names.empty() ? "" : ", ") + one.name;
    }
    throw_user("the executable has no such function", "carve(function=...)", names,
               in_quotes(name));
  }
  std::vector<std::vector<runtime::Value>> runs;
  for (py::handle one : inputs) {
    const auto args = py::reinterpret_borrow<py::sequence>(one);
    if (args.size() != function->params.size()) {
      throw_user("a call has the wrong number of inputs", "carve(inputs=...)",
                 std::to_string(function->params.size()) + " per call",
                 std::to_string(args.size()));
    }
    std::vector<runtime::Value>& values = runs.emplace_back();
    for (size_t i = 0; i < args.size(); ++i) {
      values.push_back(to_value(args[i], check_of_parameter(*function, i), open,
                                "argument " + function->params[i] + " of " + name));
    }
  }
  auto session = open->use();
  return without_interpreter([&] {
    const auto contained = app::ContainedKernels::open(
        compiled.executable, open->target(), open->libraries(), open->remote(), isolation);
    auto vm = unwrap(runtime::open_instrumented(*session, compiled.executable));
    if (contained) contained->attach(*vm);
    topdown::CarveOptions carving = app::carve_options(command);
    carving.functions = {name};
    std::vector<app::CarveRun> calls_of_runs;
    for (const auto& values : runs) {
      calls_of_runs.emplace_back([&](const topdown::Carver&) -> Status {
        TAPML_ASSIGN([[maybe_unused]] runtime::Value result, vm->call(name, values));
        return {};
      });
    }
    const app::CarveSource source =
        app::carve_source(command, open->target(), compiled.executable, contained);
    return finished(app::carve_runs(*vm, source, command, carving, calls_of_runs, carve_hooks()));
  });
}

py::tuple kernels_of(const CarvedSuite& suite) {
  py::tuple list(suite.suite->kernels.size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = SuiteKernel{suite.suite, i};
  return list;
}

}  // namespace

void bind_suite(py::module_& module) {
  bind_suite_tests(module);
  py::class_<SuiteKernel>(module, "SuiteKernel", py::is_final(), "A kernel that a suite tests.")
      .def_property_readonly("name", [](const SuiteKernel& k) { return k.get().name; })
      .def_property_readonly("parameters", [](const SuiteKernel& k) { return k.get().params; })
      .def_property_readonly(
          "modes",
          [](const SuiteKernel& k) {
            py::list modes;
            for (AccessMode mode : k.get().modes) modes.append(access_mode_name(mode));
            return py::tuple(modes);
          },
          "``\"in\"``, ``\"out\"`` or ``\"inout\"`` for each parameter.")
      .def_property_readonly(
          "dropped", [](const SuiteKernel& k) { return k.get().dropped; },
          "Number of calls of the run that were not kept (``calls``, ``budget``).")
      .def_property_readonly(
          "spec", [](const SuiteKernel& k) { return k.get().spec; },
          "The kernel's specification, as the text of a module.")
      .def("__repr__",
           [](const SuiteKernel& k) { return "<tapml.SuiteKernel " + k.get().name + ">"; });
  py::class_<CarvedSuite>(module, "Suite", py::is_final(), R"doc(
Carved tests: a real run kept as a test for every kernel call.)doc")
      .def_static("load", &load_carved, py::arg("folder"), py::kw_only(), py::arg("model") = "",
                  "Reads a suite written by save() or the command ``tapml carve``. ``model``: the "
                  "model folder of a suite with weights by reference, if it has moved.")
      .def("save", &save_carved, py::arg("folder"), "Writes the suite as a folder.")
      .def_readonly("folder", &CarvedSuite::folder)
      .def_property_readonly(
          "complete", [](const CarvedSuite& s) { return s.suite->incomplete.empty(); },
          "Whether all of its runs finished.")
      .def_property_readonly(
          "reason", [](const CarvedSuite& s) { return s.suite->incomplete; },
          "Why it is incomplete; empty if it is complete.")
      .def_property_readonly(
          "untested",
          [](const CarvedSuite& s) {
            return py::tuple(py::cast(topdown::names_of(topdown::untested_kernels(*s.suite))));
          },
          "Kernels that the carved functions may call but the suite does not test.")
      .def_property_readonly(
          "source", [](const CarvedSuite& s) { return s.suite->source; },
          "The target that it was carved on.")
      .def_property_readonly(
          "weights",
          [](const CarvedSuite& s) {
            std::set<std::string> names;
            for (const auto& [hash, name] : s.suite->weights) names.insert(name);
            return py::tuple(py::cast(names));
          },
          "Names of the weights that are stored in the model's folder, not in the suite.")
      .def_property_readonly("kernels", &kernels_of)
      .def(
          "find_kernels",
          [](const CarvedSuite& s, const std::string& wanted) {
            return py::tuple(py::cast(topdown::find_kernels(
                topdown::kernel_names(*s.suite), wanted, {"find_kernels(wanted)", "the suite"})));
          },
          py::arg("wanted"),
          "Names of the kernels that ``wanted`` selects: a name, the beginning of names, or a "
          "pattern with ``*`` and ``?``. Raises UserError with similar names if there are none.")
      .def_property_readonly("calls", &calls_of)
      .def_property_readonly("groups", &groups_of,
                             "Kernels that are tested together (docs/suite-format.md).")
      .def(
          "__len__",
          [](const CarvedSuite& s) { return s.suite->calls.size() + s.suite->groups.size(); },
          "Number of tests: calls and groups.")
      .def("__repr__", [](const CarvedSuite& s) {
        return "<tapml.Suite of " + std::to_string(s.suite->calls.size()) + " calls of " +
               std::to_string(s.suite->kernels.size()) + " kernels" +
               (s.suite->groups.empty()
                    ? ""
                    : ", " + std::to_string(s.suite->groups.size()) + " groups") +
               (s.suite->incomplete.empty() ? "" : ", incomplete") + ">";
      });
  module.def("carve_model", &carve_model, py::arg("model"), py::arg("device"), py::arg("prompts"),
             py::arg("max_tokens"), py::arg("sampler"), py::arg("calls"), py::arg("budget"),
             py::arg("reference"), py::arg("batch"), py::arg("edge"), py::arg("as_run"),
             py::arg("cache"));
  module.def("carve_steps", &carve_steps, py::arg("model"), py::arg("device"), py::arg("tokens"),
             py::arg("decode"), py::arg("reference"), py::arg("cache"));
  module.def("carve_function", &carve_function, py::arg("executable"), py::arg("device"),
             py::arg("function"), py::arg("inputs"), py::arg("calls"), py::arg("budget"),
             py::arg("edge"), py::arg("in_process"), py::arg("kernel_timeout"),
             py::arg("step_limit"));
}

}  // namespace tapml::python
