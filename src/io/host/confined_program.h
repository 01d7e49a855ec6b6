// Runs programs that nobody has read, such as those that a model wrote.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace tapml {

struct ConfinedProgram {
  std::vector<std::string> arguments;        // the first is the program's file, an absolute path
  std::map<std::string, std::string> files;  // names and contents in its working folder
};

struct ProgramLimits {
  std::chrono::milliseconds time{10'000};  // from its start, processor time too
  int64_t memory = int64_t{4} << 30;       // bytes of address space
  int64_t file_size = int64_t{16} << 20;   // bytes of each file that it writes
};

struct ProgramEnd {
  int exit_code = 0;       // 128 + n if signal n ended it
  bool timed_out = false;  // it was killed
  std::string output;      // the last 64 KiB of standard output and standard error, interleaved
};

// Runs a program in a new folder, which is removed afterwards, with an empty standard input and
// nothing of this process's environment. It can write only into this folder, has no network, cannot
// start processes, and cannot signal or trace another. Under the superuser it runs as a user of its
// own, if that may run the program; else it can read what this user can. (Landlock, seccomp,
// resource limits.) PlatformError:
// kAbsent if the program cannot be started, or if this system cannot confine it; kCancelled once
// `cancelled`, which is polled and may be empty, returns true. UserError for a folder that cannot
// be made.
Result<ProgramEnd> run_confined(const ConfinedProgram& program, const ProgramLimits& limits,
                                const std::function<bool()>& cancelled = {});

}  // namespace tapml
