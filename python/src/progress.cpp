#include "progress.h"

namespace tapml::python {

std::function<void(const std::string&, int64_t, int64_t)> ProgressFunction::callback() {
  return [this](const std::string& step, int64_t done, int64_t total) {
    check_interrupt();
    if (function_.is_none()) return;
    py::gil_scoped_acquire locked;
    try {
      function_(step, done, total);
    } catch (const py::error_already_set&) {
      raised_ = std::current_exception();
    }
    if (raised_) throw_platform(PlatformFault::kCancelled, "the progress function raised");
  };
}

}  // namespace tapml::python
