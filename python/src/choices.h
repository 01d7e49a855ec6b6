// Converts Python arguments to the inputs of replay, migrate and localize.
#pragma once

#include <string>
#include <utility>

#include "app/commands/choices.h"
#include "binding.h"
#include "language_model.h"
#include "progress.h"
#include "session.h"

namespace tapml::python {

app::ModelChoice choice_of(const LanguageModel& model);
// `session` is that of `open`, in use.
app::PlatformChoice choice_of(const OpenSession& open, runtime::Session& session);
// From a pair: the text of a file of tolerances (docs/cli.md), and its name.
app::ToleranceChoice choice_of(const std::pair<std::string, std::string>& tolerance);

// Hooks that end the work once this thread is interrupted.
app::CommandHooks interruptible_hooks();
// The same, and report to `told`, which must outlive them.
app::CommandHooks command_hooks(ProgressFunction& told);

}  // namespace tapml::python
