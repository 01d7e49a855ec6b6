// Converts Python arguments to the inputs of replay, migrate and localize.
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "app/commands/choices.h"
#include "binding.h"
#include "language_model.h"
#include "progress.h"
#include "session.h"

namespace tapml::python {

app::ModelChoice choice_of(const LanguageModel& model);
// What a model reads: a prompt, or one or several texts for an encoder. UserError for several of a
// language model.
using TextOrTexts = std::variant<std::string, std::vector<std::string>>;
app::RunInput input_of(const LanguageModel& model, const TextOrTexts& given, const char* where);
app::ModelOptions model_options_of(const LanguageModel& model, bool cache);
// Sets the platform of `options` to `open`, whose session is `session`.
void set_platform(app::ModelOptions& options, const OpenSession& open, runtime::Session& session);
// `session` is that of `open`, in use.
app::PlatformChoice choice_of(const OpenSession& open, runtime::Session& session);
// From a pair: the text of a file of tolerances (docs/cli.md), and its name.
app::ToleranceChoice choice_of(const std::pair<std::string, std::string>& tolerance);

// Hooks that end the work once this thread is interrupted.
app::CommandHooks interruptible_hooks();
// The same, and report to `reporter`, which must outlive them.
app::CommandHooks command_hooks(ProgressFunction& reporter);

}  // namespace tapml::python
