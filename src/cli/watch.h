// Tests a kernel again whenever its source is saved.
#pragma once

#include <string>

#include "cli/command.h"
#include "topdown/replay/replay.h"
#include "topdown/runner/sandbox.h"

namespace tapml::cli {

// Prints one line for every version of the source of kernel `kernel` in `folder`: its verdict, or
// why there is none. Only ends on an interrupt (PlatformError kCancelled) or an error that no
// source can have caused.
[[noreturn]] void watch_kernel(const topdown::Suite& suite, topdown::KernelReference& reference,
                               const std::string& kernel, const std::string& folder,
                               topdown::Sandbox& sandbox, const Output& output);

}  // namespace tapml::cli
