// Other programs of this machine, run to their end.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tapml {

struct CommandResult {
  int exit_code = 0;   // 128 + n where signal n ended it
  std::string output;  // standard output and standard error, as they came
};

// Starts the program `arguments[0]`, found on PATH, with an empty standard input, and waits for it;
// no shell. PlatformError: kAbsent where it cannot be started, kTimeout after `longest` (it is
// killed then, and so it is when `cancelled`, asked now and then, says so: kCancelled).
Result<CommandResult> run_command(std::vector<std::string> arguments,
                                  std::chrono::milliseconds longest,
                                  const std::function<bool()>& cancelled = {}) noexcept;

}  // namespace tapml
