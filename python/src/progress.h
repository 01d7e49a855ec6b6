// A Python function that receives the progress of long work.
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <utility>

#include "binding.h"

namespace tapml::python {

// An exception of the function ends the work, and is raised in its place.
class ProgressFunction {
 public:
  // `function(step, done, total)`, or None.
  explicit ProgressFunction(py::object function) : function_(std::move(function)) {}

  // The callback for the work, called without the GIL; refers to this object.
  std::function<void(const std::string& step, int64_t done, int64_t total)> callback();

  // Like without_interpreter(work).
  template <class Work>
  auto run(Work&& work) {
    try {
      return without_interpreter(std::forward<Work>(work));
    } catch (const CompilerException&) {
      if (raised_) std::rethrow_exception(raised_);
      throw;
    }
  }

 private:
  py::object function_;
  std::exception_ptr raised_;
};

}  // namespace tapml::python
