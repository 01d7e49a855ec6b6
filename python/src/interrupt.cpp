// Ctrl-C, warnings and references between C++ and the Python interpreter.
#include <csignal>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "binding.h"

namespace tapml::python {

namespace {

std::atomic<bool> g_interrupted = false;
const std::atomic<bool> g_never = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

// Used by the main thread only.
int g_depth = 0;
struct sigaction g_before = {};

// Sets Python's flag directly, as its own handler would. The previous handler may be LLVM's, which
// would restore this one and raise the signal again.
void on_interrupt(int) {
  g_interrupted = true;
  PyErr_SetInterruptEx(SIGINT);
}

bool is_handled(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 ||
         (action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN);
}

bool is_main_thread() {
  static const std::thread::id main = [] {
    py::object thread = py::module_::import("threading").attr("main_thread")();
    const bool here = thread.attr("ident").cast<unsigned long>() == PyThread_get_thread_ident();
    return here ? std::this_thread::get_id() : std::thread::id();
  }();
  return std::this_thread::get_id() == main;
}

std::mutex g_warnings_lock;
std::vector<std::string> g_warnings;

}  // namespace

InterruptScope::InterruptScope() {
  if (!is_main_thread()) return;
  installed_ = true;
  if (g_depth++ > 0) return;
  g_interrupted = false;
  sigaction(SIGINT, nullptr, &g_before);
  if (!is_handled(g_before)) return;
  struct sigaction action = g_before;
  action.sa_handler = on_interrupt;
  action.sa_flags &= ~SA_SIGINFO;
  sigaction(SIGINT, &action, nullptr);
}

InterruptScope::~InterruptScope() {
  if (!installed_ || --g_depth > 0) return;
  struct sigaction now = {};
  sigaction(SIGINT, nullptr, &now);
  // LLVM may have replaced this handler with its own; if the signal is ignored, the user wants
  // that.
  if (is_handled(now) && is_handled(g_before)) sigaction(SIGINT, &g_before, nullptr);
}

void InterruptScope::raise_if_interrupted() {
  if (!is_main_thread() || !g_interrupted) return;
  if (PyErr_CheckSignals() != 0) throw py::error_already_set();
}

const std::atomic<bool>& interrupt_of_this_thread() {
  return is_main_thread() ? g_interrupted : g_never;
}

void check_interrupt() {
  if (!interrupt_of_this_thread()) return;
  throw_platform(PlatformFault::kCancelled, "interrupted");
}

void flush_warnings() {
  std::vector<std::string> messages;
  {
    std::lock_guard guard(g_warnings_lock);
    messages.swap(g_warnings);
  }
  if (messages.empty()) return;
  py::object category = py::module_::import("tapml.errors").attr("Warning");
  for (const std::string& message : messages) {
    if (PyErr_WarnEx(category.ptr(), message.c_str(), 1) != 0) throw py::error_already_set();
  }
}

std::shared_ptr<const void> keep_alive(py::object object) {
  PyObject* held = object.release().ptr();
  return {held, [](const void* pointer) {
            // After the interpreter has ended, reference counts must not change.
            if (!Py_IsInitialized()) return;
            py::gil_scoped_acquire locked;
            Py_DECREF(static_cast<PyObject*>(const_cast<void*>(pointer)));
          }};
}

void bind_errors(py::module_& module) {
  is_main_thread();  // the first call needs the GIL
  // A logging thread may hold locks that another thread waits for with the GIL, so messages wait
  // until the work is done.
  set_log_sink([](LogLevel, std::string_view message) {
    std::lock_guard guard(g_warnings_lock);
    g_warnings.emplace_back(message);
  });
  py::register_exception_translator([](std::exception_ptr pointer) {
    try {
      if (pointer) std::rethrow_exception(pointer);
    } catch (const CompilerException& exception) {
      const Error& error = exception.error();
      try {
        py::object made =
            py::module_::import("tapml.errors")
                .attr("make_error")(error_kind_name(error.kind), platform_fault_name(error.fault),
                                    error.message, error.where, error.expected, error.found,
                                    error.hint);
        PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
      } catch (py::error_already_set& failure) {
        failure.restore();
      }
    }
  });
}

}  // namespace tapml::python
