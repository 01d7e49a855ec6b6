// Shows what topdown/ works on.
#pragma once

#include <functional>
#include <string>

#include "app/commands/choices.h"
#include "base/host/progress.h"
#include "cli/command.h"
#include "topdown/runner/kernel_event.h"

namespace tapml::cli {

// The `progress` of topdown's options: a phase with kernels is called `phase` or, where that is
// empty, as the first word of its steps. Throws once interrupted. `progress` outlives it.
std::function<void(const std::string& step, int64_t done, int64_t total)> kernel_progress(
    Progress& progress, const std::string& phase = "");

// A row of `progress` for each kernel: what it is doing, and how it ended. `progress` outlives it.
topdown::KernelWatcher kernel_rows(Progress& progress);

// What a command of app/ tells `progress`, which outlives it, and what ends it: Ctrl-C.
CommandHooks command_hooks(Progress& progress);

}  // namespace tapml::cli
