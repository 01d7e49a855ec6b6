#include "executable.h"

#include <pybind11/stl.h>

#include <chrono>

#include "app/cache.h"
#include "app/libraries.h"
#include "app/variables.h"
#include "base/strings.h"
#include "exec/executable_file.h"
#include "io/host/files.h"
#include "path.h"
#include "program.h"
#include "runtime/local_virtual_machine.h"
#include "text/parser.h"
#include "text/printer.h"
#include "under_test.h"
#include "values.h"

namespace tapml::python {

namespace {

// A VM on a session, until one of them is closed.
class Library final : public Resource {
 public:
  Library(SessionRef open, std::shared_ptr<SharedVm> vm)
      : open_(std::move(open)), vm_(std::move(vm)) {
    open_->add(this);
  }
  ~Library() override { open_->remove(this); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  void drop() noexcept override { vm_.reset(); }

  const SessionRef& open() const { return open_; }
  std::shared_ptr<SharedVm> use() const {
    if (!vm_) throw_closed("library");
    return vm_;
  }

 private:
  SessionRef open_;
  std::shared_ptr<SharedVm> vm_;
};

struct Function {
  std::shared_ptr<Library> library;
  std::string name;
  std::vector<std::string> parameters;
};

py::tuple function_names(const Executable& executable) {
  py::list names;
  for (const VmFunction& function : executable.functions) names.append(function.name);
  return py::tuple(names);
}

// Its name, the pass that it runs after, and the function.
using AddedPassOfPython = std::tuple<std::string, std::string, py::function>;

std::unique_ptr<Compiled> compile_for(
    const py::object& module, const py::object& target, bool cache, bool verify,
    const std::optional<std::string>& dump, const std::vector<std::string>& skip,
    const std::map<std::string, int64_t>& bounds, const std::vector<std::string>& libraries,
    const std::optional<std::string>& patterns, const std::vector<AddedPassOfPython>& passes) {
  const Module& source = module_of(module, "compile(module, target)");
  const target::Target wanted = target_of(target, "compile(module, target)");
  SessionRef open;
  if (!py::isinstance<py::str>(target)) open = session_of(target, "compile(module, target)");
  CompileSettings settings{cache,  verify,    dump.value_or(""),    skip,
                           bounds, libraries, patterns.value_or("")};
  for (const auto& [name, after, run] : passes) {
    settings.added.push_back(pass_of(name, after, run));
  }
  return without_interpreter([&] { return compile(source, wanted, settings, open); });
}

std::unique_ptr<Compiled> load_executable(const std::string& path) {
  return without_interpreter([&] {
    ExecutableFile file = app::load_executable(path);
    auto compiled = std::make_unique<Compiled>();
    compiled->fixed = text::parse(file.module, path + ", section module");
    compiled->source = std::move(file.source);
    compiled->executable = std::make_shared<const Executable>(std::move(file.executable));
    return compiled;
  });
}

void save_executable(const Compiled& compiled, const Path& path) {
  without_interpreter([&] {
    unwrap(check_writable(path));
    ExecutableFile file = app::executable_file(*compiled.executable,
                                               target::parse_target(compiled.executable->target),
                                               compiled.fixed, compiled.source);
    unwrap(write_file_atomic(path, unwrap(write_executable(file))));
  });
}

std::shared_ptr<Library> upload(const Compiled& compiled, const py::object& device, bool in_process,
                                double kernel_timeout, int64_t step_limit) {
  constexpr const char* kWhere = "upload(executable, device)";
  SessionRef open = session_for(compiled, device, kWhere);
  const app::IsolationOptions isolation = isolation_of({in_process, kernel_timeout}, kWhere);
  if (step_limit < 0) {
    throw_user("the limit of steps is negative", kWhere, "step_limit of 0 or more",
               std::to_string(step_limit));
  }
  auto session = open->use();
  auto vm = without_interpreter([&] {
    auto shared = std::make_shared<SharedVm>();
    shared->session = session;
    shared->contained = app::ContainedKernels::open(compiled.executable, open->target(),
                                                    open->libraries(), open->remote(), isolation);
    shared->vm = unwrap(session->open_vm(compiled.executable));
    if (shared->contained) shared->contained->attach(*shared->vm);
    shared->vm->set_call_limit(step_limit);
    return shared;
  });
  return std::make_shared<Library>(open, std::move(vm));
}

std::unique_ptr<Function> get_function(const std::shared_ptr<Library>& library,
                                       const std::string& name) {
  auto vm = library->use();
  const Executable& executable = vm->vm->executable();
  const VmFunction* function = executable.find_function(name);
  if (!function) {
    std::string names;
    for (const VmFunction& one : executable.functions) {
      names += (names.empty() ? "" : ", ") + one.name;
    }
    throw_user("the library has no such function", "get_function(name)", names, in_quotes(name));
  }
  return std::make_unique<Function>(Function{library, name, function->params});
}

// Writes results to the tensors passed to a call in destination-passing style.
void store(runtime::Session& session, const std::string& name,
           const std::vector<runtime::Tensor>& results,
           const std::vector<runtime::Tensor>& outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const runtime::Tensor& from = results[i];
    const runtime::Tensor& to = outputs[i];
    if (from.dtype != to.dtype || from.shape != to.shape) {
      throw_user("an output tensor has the wrong type",
                 "output " + std::to_string(i) + " of " + name,
                 type_text(from.dtype, Shape(from.shape)), type_text(to.dtype, Shape(to.shape)));
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const runtime::Tensor& to = outputs[i];
    unwrap(session.copy(runtime::kDefaultStream, {results[i].storage->buffer(), results[i].offset},
                        {to.storage->buffer(), to.offset}, to.byte_size()));
    to.storage->written(to.offset, to.byte_size());
  }
}

py::object call(const Function& function, const py::args& args) {
  const SessionRef open = function.library->open();
  auto shared = function.library->use();
  const VmFunction* callee = shared->vm->executable().find_function(function.name);
  const size_t inputs = function.parameters.size();
  if (args.size() < inputs) {
    std::string names;
    for (const std::string& name : function.parameters) names += (names.empty() ? "" : ", ") + name;
    throw_user("the call has too few arguments", "function " + function.name,
               std::to_string(inputs) + " arguments (" + names +
                   "), then tensors for its outputs "
                   "if it should write to them",
               std::to_string(args.size()));
  }
  std::vector<runtime::Value> values;
  for (size_t i = 0; i < inputs; ++i) {
    values.push_back(to_value(args[i], check_of_parameter(*callee, i), open,
                              "argument " + function.parameters[i] + " of " + function.name));
  }
  std::vector<runtime::Tensor> outputs;
  for (size_t i = inputs; i < args.size(); ++i) {
    const DeviceTensor* output = as_device_tensor(args[i]);
    const std::string where = "output " + std::to_string(i - inputs) + " of " + function.name;
    if (!output || output->open() != open) {
      throw_user("an output is not a tensor on the call's device", where,
                 "a tensor of " + open->target().text, py::repr(args[i]).cast<std::string>());
    }
    outputs.push_back(output->use().tensor);
  }
  for (const runtime::Value& value : values) {
    std::vector<runtime::Tensor> tensors;
    collect_tensors(value, tensors);
    for (const runtime::Tensor& tensor : tensors) note_foreign_writes(*open, tensor);
  }
  runtime::Value result = without_interpreter([&] {
    auto busy = shared->lock();
    shared->vm->set_interrupt(&interrupt_of_this_thread());
    auto called = shared->vm->call(function.name, values);
    shared->vm->set_interrupt(nullptr);
    runtime::Value made = unwrap(std::move(called));
    if (outputs.empty()) return made;
    std::vector<runtime::Tensor> results;
    collect_tensors(made, results);
    if (results.size() != outputs.size()) {
      throw_user(
          "the call has too many arguments", "function " + function.name,
          std::to_string(inputs) + " inputs and " + std::to_string(results.size()) + " outputs",
          std::to_string(inputs + outputs.size()) + " arguments");
    }
    store(*shared->session, function.name, results, outputs);
    return made;
  });
  if (!outputs.empty()) return py::none();
  return from_value(open, result);
}

}  // namespace

std::unique_lock<std::timed_mutex> SharedVm::lock() {
  std::unique_lock<std::timed_mutex> held(busy, std::defer_lock);
  while (!held.try_lock_for(std::chrono::milliseconds(100))) check_interrupt();
  return held;
}

std::unique_ptr<Compiled> compile(const Module& module, const target::Target& target,
                                  const CompileSettings& settings, SessionRef open) {
  app::CacheOptions caching;
  caching.off = !settings.cache;
  app::CompileCache cache(caching);
  app::LibraryFiles files;
  files.files = settings.libraries;
  app::PatternOptions patterns;
  patterns.file = settings.patterns;
  pipeline::ImplementOptions options;
  options.cache = cache.kernels();
  options.libraries = app::library_options(files.load(), patterns);
  options.instruments.verify = settings.verify;
  options.instruments.dump_folder = settings.dump;
  options.instruments.poll = check_interrupt;
  options.instruments.added = settings.added;
  pipeline::leave_out(settings.skip, "skip", options);
  Module source = module;
  patterns.apply(source);
  auto compiled = std::make_unique<Compiled>();
  app::add_bounds(settings.bounds, source);
  Module planned;
  options.planned = &planned;
  compiled->fixed = pipeline::form_kernels(source, options.instruments);
  compiled->executable = pipeline::implement(compiled->fixed, target, options);
  app::check_variables(settings.bounds, "bounds", source, planned);
  compiled->open = std::move(open);
  return compiled;
}

SessionRef session_for(const Compiled& compiled, const py::object& device, const char* where) {
  SessionRef open = compiled.open;
  if (!device.is_none()) open = session_of(device, where);
  const std::string target = compiled.executable->target;
  if (!open) {
    throw_user("the executable was compiled for a target without a device", where,
               "a session on " + in_quotes(target), "none");
  }
  const std::string platform = target::parse_target(target).description.platform;
  if (platform != open->target().description.platform) {
    throw_user("the executable was compiled for another platform", where, platform,
               open->target().text, "compile the module for " + open->target().text);
  }
  return open;
}

void bind_executable(py::module_& module) {
  bind_values(module);
  py::class_<Compiled>(module, "Executable", py::is_final(), "A module compiled for a target.")
      .def_property_readonly("target", [](const Compiled& c) { return c.executable->target; })
      .def_property_readonly("functions",
                             [](const Compiled& c) { return function_names(*c.executable); })
      .def_property_readonly(
          "kernels",
          [](const Compiled& c) {
            py::list names;
            for (const KernelInfo& kernel : c.executable->kernels) names.append(kernel.name);
            return py::tuple(names);
          },
          "Names of its kernels, the units of top-down migration.")
      .def("save", &save_executable, py::arg("path"),
           "Writes the executable to a file that tapml.load, the command tapml and libtapml read.")
      .def("__str__",
           [](const Compiled& c) {
             return without_interpreter([&] { return text::print(c.fixed); });
           })
      .def("__repr__", [](const Compiled& c) {
        return "<tapml.Executable for " + in_quotes(c.executable->target) + " with " +
               std::to_string(c.executable->kernels.size()) + " kernels>";
      });
  py::class_<Function>(module, "Function", py::is_final(), R"doc(
A function of a library.

``f(*inputs)`` returns its result; ``f(*inputs, *outputs)`` writes the tensors of the result to the
given tensors and returns None. Both enqueue their work; reading elements waits for it.)doc")
      .def_readonly("name", &Function::name)
      .def_readonly("parameters", &Function::parameters, "Names of the parameters.")
      .def("__call__", &call)
      .def("__repr__", [](const Function& f) {
        std::string names;
        for (const std::string& name : f.parameters) names += (names.empty() ? "" : ", ") + name;
        return "<tapml.Function " + f.name + "(" + names + ")>";
      });
  py::class_<Library, std::shared_ptr<Library>>(module, "Library", py::is_final(), R"doc(
An executable on a device.

Calls from several threads run one after the other.)doc")
      .def("get_function", &get_function, py::arg("name"),
           "The function of this name; raises tapml.UserError if there is none.")
      .def("__getitem__", &get_function, py::arg("name"))
      .def_property_readonly(
          "functions", [](const Library& l) { return function_names(l.use()->vm->executable()); })
      .def_property_readonly("device", [](const Library& l) { return l.open(); })
      .def("__repr__", [](const Library& l) {
        return "<tapml.Library on " + in_quotes(l.open()->target().text) +
               (l.open()->closed() ? ", closed>" : ">");
      });
  module.def("compile", &compile_for, py::arg("module"), py::arg("target"), py::kw_only(),
             py::arg("cache") = true, py::arg("verify") = false, py::arg("dump") = py::none(),
             py::arg("skip") = std::vector<std::string>(),
             py::arg("bounds") = std::map<std::string, int64_t>(),
             py::arg("libraries") = std::vector<std::string>(), py::arg("patterns") = py::none(),
             py::arg("passes") = std::vector<AddedPassOfPython>());
  module.def("load", &load_executable, py::arg("path"));
  module.def("upload", &upload, py::arg("executable"), py::arg("device") = py::none(),
             py::kw_only(), py::arg("in_process") = false, py::arg("kernel_timeout") = 30.0,
             py::arg("step_limit") = 0);
}

}  // namespace tapml::python
