#include "suite.h"

#include <pybind11/stl.h>

#include <filesystem>
#include <variant>

#include "app/executable.h"
#include "app/model.h"
#include "base/log.h"
#include "base/strings.h"
#include "executable.h"
#include "host_array.h"
#include "language_model.h"
#include "llm/engine.h"
#include "runtime/vm.h"
#include "topdown/replay/edge_cases.h"
#include "topdown/suite/carve.h"
#include "values.h"

namespace tapml::python {

namespace {

struct SuiteKernel {
  std::shared_ptr<const topdown::Suite> suite;
  size_t index = 0;
  const topdown::SuiteKernel& get() const { return suite->kernels[index]; }
};

struct SuiteCall {
  std::shared_ptr<const topdown::Suite> suite;
  size_t index = 0;
  const topdown::SuiteCall& get() const { return suite->calls[index]; }
  const topdown::SuiteKernel& kernel() const {
    return suite->kernels[static_cast<size_t>(get().kernel)];
  }
};

CarvedSuite load_carved(const std::string& folder, const std::string& model) {
  return without_interpreter([&] {
    return CarvedSuite{
        std::make_shared<const topdown::Suite>(unwrap(topdown::load_suite(folder, model))), folder};
  });
}

void save_carved(const CarvedSuite& suite, const std::string& folder) {
  without_interpreter([&] { return topdown::save_suite(*suite.suite, folder); });
}

// What ran, and whether edge cases are added.
struct CarveSource {
  target::Target target;
  runtime::Session& session;
  std::shared_ptr<const Executable> executable;
  bool edge = false;
};

// The suite, with edge cases where they are wanted; what the source gets wrong there, and NaN in
// its own run, are warned of.
CarvedSuite finished(topdown::Carver& carver, const CarveSource& source) {
  if (const auto& nan = carver.nan()) {
    log_warning("NaN in the source's own run: " + nan->kernel +
                (nan->origin.empty() ? "" : " (" + origin_summary(nan->origin) + ")") + ", call " +
                std::to_string(nan->sequence) + ", output " + nan->output +
                "; tests behind it say little");
  }
  topdown::Suite suite = carver.take();
  if (source.edge) {
    topdown::Sandbox sandbox({source.target, &source.session});
    sandbox.load(source.executable);
    for (const std::string& text : topdown::add_edge_cases(suite, sandbox).left_out) {
      log_warning("edge case left out: " + text);
    }
  }
  return {std::make_shared<const topdown::Suite>(std::move(suite)), ""};
}

topdown::CarveOptions carve_options(int64_t calls, int64_t budget) {
  if (calls < 0) {
    throw_user("a negative number of calls", "carve(calls=...)", "0 (all of them) or more",
               std::to_string(calls));
  }
  if (budget < 0) {
    throw_user("a negative budget", "carve(budget=...)", "bytes, or 0 for no limit",
               std::to_string(budget));
  }
  topdown::CarveOptions options;
  options.calls_per_kernel = calls;
  options.budget_bytes = budget;
  return options;
}

// A text, or its token ids.
using Prompt = std::variant<std::string, std::vector<int32_t>>;

// Ids that the tokenizer does not make of the text that they stand for, of a quantized model.
void warn_of_random_tokens(const LanguageModel& model, const std::vector<Prompt>& prompts) {
  if (model.quantize.empty()) return;
  for (size_t i = 0; i < prompts.size(); ++i) {
    const auto* ids = std::get_if<std::vector<int32_t>>(&prompts[i]);
    if (!ids) continue;
    const Tokenizer& tokenizer = model.loaded->tokenizer;
    const auto again = tokenizer.encode(tokenizer.decode(*ids));
    if (again && *again == *ids) continue;
    log_warning("prompt " + std::to_string(i) + " has token ids of no text, and the model is " +
                "quantized (" + model.quantize +
                "): verdicts are then unreliable, since no text leads to such values; carve it "
                "while it continues a text");
  }
}

CarvedSuite carve_model(const py::object& given, const py::object& device,
                        const std::vector<Prompt>& prompts, int64_t max_tokens, int64_t calls,
                        int64_t budget, bool reference, int64_t batch, bool edge, bool cache) {
  const LanguageModel model = language_model_of(given, "carve(model, device)");
  const SessionRef open = session_of(device, "carve(model, device)");
  topdown::CarveOptions carving = carve_options(calls, budget);
  if (reference && (app::is_executable_file(model.folder) || !model.quantize.empty())) {
    throw_user("weights by reference are found in a model directory", "carve(weights=...)",
               "a model directory, not quantized",
               model.quantize.empty() ? model.folder : "quantized weights", "weights=\"inside\"");
  }
  if (batch < 1) {
    throw_user("a batch of no texts", "carve(batch=...)", "1 or more", std::to_string(batch));
  }
  if (max_tokens < 0) {
    throw_user("a negative number of tokens", "carve(max_tokens=...)", "0 or more",
               std::to_string(max_tokens));
  }
  auto session = open->use();
  return without_interpreter([&] {
    std::vector<std::vector<int32_t>> inputs;
    for (const Prompt& prompt : prompts) {
      const auto* text = std::get_if<std::string>(&prompt);
      inputs.push_back(text ? app::encode_prompt(*model.loaded, *text)
                            : std::get<std::vector<int32_t>>(prompt));
    }
    CompileSettings settings;
    settings.cache = cache;
    auto compiled = compile(model.loaded->files.module, open->target(), settings, open);
    auto engine = unwrap(llm::Engine::create(app::open_capturing(*session, compiled->executable),
                                             model.loaded->files.weights, {.samples_there = true}));
    if (!session->local()) carving.held = &model.loaded->files.weights;
    if (reference) {
      carving.weights = &model.loaded->files.weights;
      carving.model_folder = std::filesystem::absolute(model.folder).lexically_normal().string();
    }
    topdown::Carver carver(*compiled->executable, carving);
    unwrap(engine->machine().set_capture(carver.plan(), &carver));
    engine->machine().set_interrupt(&interrupt_of_this_thread());
    llm::GenerateOptions options;
    options.max_tokens = max_tokens;
    options.eos = model.loaded->files.eos;
    options.on_token = [](int32_t) { return !interrupt_of_this_thread(); };
    for (size_t first = 0; first < inputs.size(); first += static_cast<size_t>(batch)) {
      const auto some = std::span(inputs).subspan(
          first, std::min(static_cast<size_t>(batch), inputs.size() - first));
      unwrap(engine->clear());  // no test holds what an earlier run left in the pools
      unwrap(engine->generate_batch(some, options));
    }
    unwrap(engine->machine().set_capture({}, nullptr));
    warn_of_random_tokens(model, prompts);
    return finished(carver, {open->target(), *session, compiled->executable, edge});
  });
}

CarvedSuite carve_function(const Compiled& compiled, const py::object& device,
                           const std::string& name, const py::sequence& inputs, int64_t calls,
                           int64_t budget, bool edge) {
  const SessionRef open = session_for(compiled, device, "carve(executable, device)");
  const topdown::CarveOptions carving = carve_options(calls, budget);
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
      throw_user("inputs of another number", "carve(inputs=...)",
                 std::to_string(function->params.size()) + " a call", std::to_string(args.size()));
    }
    std::vector<runtime::Value>& values = runs.emplace_back();
    for (size_t i = 0; i < args.size(); ++i) {
      values.push_back(to_value(args[i], check_of_parameter(*function, i), open,
                                "argument " + function->params[i] + " of " + name));
    }
  }
  auto session = open->use();
  return without_interpreter([&] {
    auto machine = app::open_capturing(*session, compiled.executable);
    topdown::Carver carver(*compiled.executable, carving);
    unwrap(machine->set_capture(carver.plan(), &carver));
    machine->set_interrupt(&interrupt_of_this_thread());
    for (const auto& values : runs) unwrap(machine->call(name, values));
    unwrap(machine->set_capture({}, nullptr));
    return finished(carver, {open->target(), *session, compiled.executable, edge});
  });
}

py::tuple kernels_of(const CarvedSuite& suite) {
  py::tuple list(suite.suite->kernels.size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = SuiteKernel{suite.suite, i};
  return list;
}

py::tuple calls_of(const CarvedSuite& suite) {
  py::tuple list(suite.suite->calls.size());
  for (size_t i = 0; i < list.size(); ++i) list[i] = SuiteCall{suite.suite, i};
  return list;
}

// Arrays over the suite's own tensors, by parameter.
py::dict tensors_of(const SuiteCall& call, const std::vector<std::string>& hashes) {
  py::dict tensors;
  for (size_t i = 0; i < hashes.size(); ++i) {
    if (hashes[i].empty()) continue;
    HostTensor tensor = call.suite->tensors.at(hashes[i]);
    if (tensor.dtype() == DType::kBF16 &&
        py::module_::import("importlib.util").attr("find_spec")("ml_dtypes").is_none()) {
      tensor = HostTensor::view(DType::kU16, tensor.shape(), tensor.bytes().data(),
                                std::make_shared<HostTensor>(tensor));
    }
    tensors[py::str(call.kernel().params[i])] =
        as_numpy(tensor, std::make_shared<HostTensor>(tensor), false);
  }
  return tensors;
}

py::tuple layers_of(const Origin& origin) {
  py::list layers;
  for (const std::string& layer : origin) layers.append(layer);
  return py::tuple(layers);
}

}  // namespace

void bind_suite(py::module_& module) {
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
          "Calls of the run that are not kept (``calls``, ``budget``).")
      .def_property_readonly(
          "spec", [](const SuiteKernel& k) { return k.get().spec; },
          "Text of the module that says what the kernel computes.")
      .def("__repr__",
           [](const SuiteKernel& k) { return "<tapml.SuiteKernel " + k.get().name + ">"; });
  py::class_<SuiteCall>(module, "SuiteCall", py::is_final(),
                        "One carved call, a test: kernel, inputs, outputs of the source.")
      .def_readonly("index", &SuiteCall::index, "In the suite's calls.")
      .def_property_readonly("kernel", [](const SuiteCall& c) { return c.kernel().name; })
      .def_property_readonly(
          "sequence", [](const SuiteCall& c) { return c.get().sequence; },
          "Position in the run that was carved.")
      .def_property_readonly(
          "times", [](const SuiteCall& c) { return c.get().times; },
          "Calls of the run with these inputs and outputs.")
      .def_property_readonly("function", [](const SuiteCall& c) { return c.get().function; })
      .def_property_readonly(
          "layers", [](const SuiteCall& c) { return layers_of(c.get().origin); },
          "Model layers that the call came from.")
      .def_property_readonly("scalars", [](const SuiteCall& c) { return c.get().scalars; })
      .def_property_readonly(
          "inputs", [](const SuiteCall& c) { return tensors_of(c, c.get().before); },
          "Read-only NumPy arrays by parameter; bf16 as uint16 bits without ml_dtypes.")
      .def_property_readonly(
          "outputs", [](const SuiteCall& c) { return tensors_of(c, c.get().after); },
          "What the source computed, as ``inputs``.")
      .def("__repr__", [](const SuiteCall& c) {
        return "<tapml.SuiteCall " + std::to_string(c.index) + " of " + c.kernel().name + ">";
      });
  py::class_<CarvedSuite>(module, "Suite", py::is_final(), R"doc(
Carved tests: one real run, kept as a test for every kernel call.)doc")
      .def_static("load", &load_carved, py::arg("folder"), py::kw_only(), py::arg("model") = "",
                  "Reads what save(), or the command ``tapml carve``, wrote. ``model``: where the "
                  "model of a suite with weights by reference is, if not where it was.")
      .def("save", &save_carved, py::arg("folder"), "Writes the suite as a folder.")
      .def_readonly("folder", &CarvedSuite::folder)
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
          "Names of the weights that are in the model's folder and not in the suite.")
      .def_property_readonly("kernels", &kernels_of)
      .def_property_readonly("calls", &calls_of)
      .def("__len__", [](const CarvedSuite& s) { return s.suite->calls.size(); })
      .def("__repr__", [](const CarvedSuite& s) {
        return "<tapml.Suite of " + std::to_string(s.suite->calls.size()) + " calls of " +
               std::to_string(s.suite->kernels.size()) + " kernels>";
      });
  module.def("carve_model", &carve_model, py::arg("model"), py::arg("device"), py::arg("prompts"),
             py::arg("max_tokens"), py::arg("calls"), py::arg("budget"), py::arg("reference"),
             py::arg("batch"), py::arg("edge"), py::arg("cache"));
  module.def("carve_function", &carve_function, py::arg("executable"), py::arg("device"),
             py::arg("function"), py::arg("inputs"), py::arg("calls"), py::arg("budget"),
             py::arg("edge"));
}

}  // namespace tapml::python
