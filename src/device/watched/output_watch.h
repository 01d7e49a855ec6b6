// What is written to the standard streams of a process that has nothing to say there.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"

namespace tapml::device {

// Takes standard output over for good, and standard error while it is asked to: into a file without
// a name. What comes in between launches goes to standard error, as if nothing watched.
class OutputWatch {
 public:
  static Result<std::unique_ptr<OutputWatch>> start() noexcept;
  ~OutputWatch();
  OutputWatch(const OutputWatch&) = delete;

  // What was written so far is no kernel's.
  void pass_on() noexcept;
  // Between the two standard error is watched, too. They do not nest.
  void begin() noexcept;
  void end() noexcept;
  // What was written since the last time: the begin of it, printable; empty: nothing.
  std::string take() noexcept;

 private:
  OutputWatch() = default;
  int file_ = -1, error_ = -1;  // the file; standard error as it was
};

}  // namespace tapml::device
