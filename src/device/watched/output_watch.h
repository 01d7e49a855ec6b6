// Captures writes to the standard streams of a process that should write nothing there.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace tapml::device {

// Redirects standard output permanently, and standard error on request, to an unnamed file. Output
// from between launches is forwarded to standard error.
class OutputWatch {
 public:
  static Result<std::unique_ptr<OutputWatch>> start() noexcept;
  ~OutputWatch();
  OutputWatch(const OutputWatch&) = delete;

  // Forwards the output so far, which is not from a kernel.
  void pass_on() noexcept;
  // Standard error is also captured between the two. They do not nest.
  void begin() noexcept;
  void end() noexcept;
  // The beginning of the output since the last call, printable; empty: none.
  std::string take() noexcept;

 private:
  OutputWatch() = default;
  int file_ = -1, error_ = -1;  // the file; the original standard error
};

}  // namespace tapml::device
