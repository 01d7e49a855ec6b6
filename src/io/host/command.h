// Runs other programs of this machine to completion.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"

namespace tapml {

struct CommandResult {
  int exit_code = 0;   // 128 + n if signal n ended it
  std::string output;  // standard output and standard error, interleaved
};

// Starts the program `arguments[0]`, found on PATH, without a shell and with an empty standard
// input, and waits for it. PlatformError: kAbsent if it cannot be started, kTimeout after
// `longest`, kCancelled once `cancelled`, which is polled, returns true; both kill it.
Result<CommandResult> run_command(std::vector<std::string> arguments,
                                  std::chrono::milliseconds longest,
                                  const std::function<bool()>& cancelled = {}) noexcept;

}  // namespace tapml
