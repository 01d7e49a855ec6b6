// The extension module tapml._tapml: the C++ part of the package.
#include "binding.h"

PYBIND11_MODULE(_tapml, module) {
  using namespace tapml::python;
  module.doc() = "The C++ part of the package tapml.";
  module.attr("__version__") = TAPML_VERSION;
  bind_errors(module);
  bind_session(module);
  bind_tensor(module);
  bind_program(module);
  bind_builder(module);
  bind_executable(module);
  bind_language_model(module);
  bind_suite(module);
  bind_trusted_suite(module);
  bind_replay(module);
  bind_under_test(module);
  bind_migrate(module);
  bind_localize(module);
  bind_evaluate(module);
  bind_profile(module);
  bind_check_import(module);
}
