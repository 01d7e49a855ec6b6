// Shows the progress of topdown/.
#pragma once

#include <functional>
#include <string>

#include "app/commands/choices.h"
#include "base/host/progress.h"
#include "cli/command.h"
#include "topdown/runner/kernel_event.h"

namespace tapml::cli {

// The `progress` of topdown's options: a phase with kernels is called `phase` or, if that is empty,
// the first word of its steps. Throws once interrupted. `progress` must outlive it.
std::function<void(const std::string& step, int64_t done, int64_t total)> kernel_progress(
    Progress& progress, const std::string& phase = "");

// Shows a row of `progress` for each kernel: its current work, then its result. `progress` must
// outlive it.
topdown::KernelWatcher kernel_rows(Progress& progress);

// Hooks that report a command of app/ to `progress`, which must outlive them, and end it on Ctrl-C.
CommandHooks command_hooks(Progress& progress);

}  // namespace tapml::cli
