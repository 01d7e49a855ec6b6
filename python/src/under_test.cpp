#include "under_test.h"

#include <pybind11/stl.h>

namespace tapml::python {

namespace {

// Loads only this module, without package and site. Libraries follow as `--library FILE`.
constexpr const char* kWorker = R"(
import importlib.util, sys
spec = importlib.util.spec_from_file_location("tapml._tapml", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.serve_kernels(sys.argv[3::2])
)";

}  // namespace

app::IsolationOptions isolation_of(const UnderTest& settings, const char* where) {
  app::IsolationOptions isolation;
  isolation.in_process = settings.in_process;
  isolation.kernel_seconds = settings.kernel_timeout;
  if (!(settings.kernel_timeout >= 0.001 && settings.kernel_timeout <= 1e6)) {
    throw_user("the time limit is invalid", std::string(where) + ": kernel_timeout",
               "seconds from 0.001 to 1e6", std::to_string(settings.kernel_timeout));
  }
  if (isolation.in_process) return isolation;
  const py::object program = py::module_::import("sys").attr("executable");
  const std::string python = program.is_none() ? "" : program.cast<std::string>();
  if (python.empty()) {
    throw_user("the Python program that would run kernels in a separate process is unknown", where,
               "sys.executable", "none", "pass in_process=True");
  }
  const py::module_ module = py::module_::import("tapml._tapml");
  isolation.worker = {python, "-I",    "-S",
                      "-c",   kWorker, module.attr("__file__").cast<std::string>()};
  return isolation;
}

void bind_under_test(py::module_& module) {
  module.def(
      "serve_kernels",
      [](const std::vector<std::string>& libraries) {
        without_interpreter([&] { app::serve_kernels({libraries}); });
      },
      py::arg("libraries"), "The process of kernels under test. Not for people.");
}

}  // namespace tapml::python
