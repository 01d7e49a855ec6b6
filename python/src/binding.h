// Shared by the sources of the extension module: C++ work and the Python interpreter.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "io/host/mapped_ranges.h"
#include "ir/exceptions.h"

namespace tapml::python {

namespace py = pybind11;

// One function per concept; each adds its classes to the module. Call them in this order.
void bind_errors(py::module_& module);
void bind_session(py::module_& module);
void bind_tensor(py::module_& module);
void bind_program(py::module_& module);
void bind_builder(py::module_& module);
void bind_executable(py::module_& module);
void bind_language_model(py::module_& module);
void bind_suite(py::module_& module);
void bind_suite_tests(py::module_& module);  // called by bind_suite
void bind_trusted_suite(py::module_& module);
void bind_replay(py::module_& module);
void bind_under_test(py::module_& module);
void bind_migrate(py::module_& module);
void bind_localize(py::module_& module);
void bind_evaluate(py::module_& module);
void bind_profile(py::module_& module);
void bind_check_import(py::module_& module);

// While one exists on Python's main thread, Ctrl-C sets flag() in addition to Python's own
// handling.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  // Raises the exception of Python's signal handler if Ctrl-C was pressed meanwhile. Requires the
  // GIL.
  static void raise_if_interrupted();

 private:
  bool installed_ = false;
};

// The flag that long work on this thread polls: set by Ctrl-C on the main thread; never set on
// others, which Python does not interrupt either.
const std::atomic<bool>& interrupt_of_this_thread();
// Throws a PlatformError (kCancelled) once it is set; for polls of the compiler.
void check_interrupt();

// Issues the messages logged since the last call as tapml.Warning. Requires the GIL.
void flush_warnings();

// Runs `work` without the GIL, so that other threads go on; Ctrl-C ends it at its next poll.
// Unwraps a Result. `work` must not touch Python objects.
template <class Work>
auto without_interpreter(Work&& work) {
  using Returned = std::invoke_result_t<Work>;
  InterruptScope interrupt;
  auto run = [&]() -> Returned {
    py::gil_scoped_release unlocked;
    if constexpr (std::is_void_v<Returned>) {
      work();
      unwrap(check_lost_files());
    } else {
      Returned returned = work();
      unwrap(check_lost_files());  // a file that was truncated while in use
      return returned;
    }
  };
  try {
    if constexpr (std::is_void_v<Returned>) {
      run();
      flush_warnings();
      InterruptScope::raise_if_interrupted();
    } else {
      Returned result = run();
      flush_warnings();
      InterruptScope::raise_if_interrupted();
      if constexpr (requires { unwrap(std::move(result)); }) {
        return unwrap(std::move(result));
      } else {
        return result;
      }
    }
  } catch (const CompilerException&) {
    flush_warnings();
    InterruptScope::raise_if_interrupted();
    throw;
  }
}

// Keeps `object` alive for C++ code that may release it on any thread.
std::shared_ptr<const void> keep_alive(py::object object);

}  // namespace tapml::python
