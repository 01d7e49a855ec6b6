// What the sources of the extension module share: how C++ work meets the interpreter.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <type_traits>
#include <utility>

#include "io/host/mapped_ranges.h"
#include "ir/exceptions.h"

namespace tapml::python {

namespace py = pybind11;

// One function a concept; each adds its classes to the module. In this order.
void bind_errors(py::module_& module);
void bind_session(py::module_& module);
void bind_tensor(py::module_& module);
void bind_program(py::module_& module);
void bind_builder(py::module_& module);
void bind_executable(py::module_& module);
void bind_language_model(py::module_& module);
void bind_suite(py::module_& module);
void bind_suite_tests(py::module_& module);  // by bind_suite
void bind_trusted_suite(py::module_& module);
void bind_replay(py::module_& module);
void bind_under_test(py::module_& module);
void bind_migrate(py::module_& module);
void bind_localize(py::module_& module);
void bind_evaluate(py::module_& module);

// While one lives on Python's main thread, Ctrl-C sets flag() beside what Python does with it.
class InterruptScope {
 public:
  InterruptScope();
  ~InterruptScope();
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;
  // Raises what Python's handler of the signal raised, where Ctrl-C was pressed meanwhile. With the
  // interpreter locked.
  static void raise_if_interrupted();

 private:
  bool installed_ = false;
};

// What long work on this thread polls: set once Ctrl-C was pressed, on the main thread; never set
// on others, which Python does not interrupt either.
const std::atomic<bool>& interrupt_of_this_thread();
// PlatformError (kCancelled) once it is set: for polls of the compiler.
void check_interrupt();

// Warns of what was logged since, as tapml.Warning. With the interpreter locked.
void flush_warnings();

// Runs `work` with the interpreter unlocked, so that other threads go on; Ctrl-C ends it where it
// polls. A Result is unwrapped. Whatever `work` touches must not be Python's.
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
      unwrap(check_lost_files());  // of a file that was cut while it was in use
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

// Keeps `object` alive for C++ code that may let go of it on any thread.
std::shared_ptr<const void> keep_alive(py::object object);

}  // namespace tapml::python
