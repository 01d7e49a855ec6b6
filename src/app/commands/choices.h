// Inputs and hooks shared by the commands that test kernels, for every caller.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/cache.h"
#include "app/encoder_texts.h"
#include "app/isolation.h"
#include "app/libraries.h"
#include "app/model.h"
#include "app/patterns.h"
#include "app/remote.h"
#include "topdown/reference_run/tolerance.h"
#include "topdown/report/command_line.h"
#include "topdown/runner/kernel_event.h"

namespace tapml::app {

// A platform that a command works on.
struct PlatformChoice {
  target::Target target;
  // An open session on it that outlives the command; null: the command opens one.
  runtime::Session* session = nullptr;
  // Options for opening further sessions like it.
  LibraryFiles libraries;
  RemoteOptions remote;

  // A platform given by a target's text, which the command opens.
  static PlatformChoice of(const std::string& target, const LibraryFiles& libraries,
                           const RemoteOptions& remote) {
    return {target::parse_target(target), nullptr, libraries, remote};
  }
};

// A language model; the command reads it if it is not given.
struct ModelChoice {
  std::string name;  // as in reports and their commands
  PatternOptions patterns;
  ModelFormat format;
  TextInputOptions inputs;
  std::shared_ptr<const LoadedModel> loaded;

  // UserError also for a model of another kind than the use needs.
  std::shared_ptr<const LoadedModel> load(const WorkWatcher& watcher,
                                          ModelUse use = ModelUse::kContinue) const;
};

// What a run of a model reads: a prompt that a language model continues, or the texts of an
// encoder.
struct RunInput {
  std::string prompt;
  EncoderTexts texts;

  // UserError unless there is either a prompt or a text. With features the prompt may be empty: a
  // model with an encoder may know how its texts begin.
  void check(const TextInputOptions& inputs) const;
  // The prompt, or the first text; empty if the texts are in a file.
  std::string first() const { return texts.texts.empty() ? prompt : texts.texts.front(); }
  ModelUse use() const { return texts.given() ? ModelUse::kEmbed : ModelUse::kContinue; }
};
struct RunTokens {
  std::vector<int32_t> prompt;
  std::vector<std::vector<int32_t>> texts;  // then there is no prompt
  std::string shown;                        // in reports: the prompt, or the texts, one a line
};
// Encodes it; places images in `inputs`.
RunTokens run_tokens(const LoadedModel& model, const RunInput& input, llm::TextInputs& inputs);

// Exceptions from the bounds: a file, or a text that is already read.
struct ToleranceChoice {
  std::string name;  // name of the file; empty: no tolerances
  std::optional<std::string> text;

  topdown::Tolerances load() const;
  // The name as in the commands of reports; empty if there is no such file.
  std::string file() const;
  // A warning for each tolerance that applies to none of the kernels.
  std::vector<std::string> unused(const topdown::Tolerances& tolerances,
                                  const std::set<std::string>& kernels) const;
};

// Callbacks for progress and cancellation. All may be empty.
struct CommandHooks {
  // Called once the options are checked, before anything is opened. An exception ends the command.
  std::function<void()> checked;
  // Called with each session of this process on which the model or kernels run, before they do.
  std::function<void(runtime::Session& session, const std::string& role)> opened;
  // Called when the work is done, while the sessions are still open.
  std::function<void()> worked;
  // Called when a phase begins (`total` steps; 0: unknown) and when it ends.
  std::function<void(const std::string& name, int64_t total)> phase;
  std::function<void(const std::string& summary)> phase_end;
  // As in topdown::MigrateOptions; in a command with phases, a step of the current one.
  std::function<void(const std::string& step, int64_t done, int64_t total)> progress;
  WorkWatcher watcher;
  topdown::KernelWatcher watch;
  std::function<bool()> cancelled;
  const std::atomic<bool>* interrupt = nullptr;
  // Called during long work; an exception ends the work.
  std::function<void()> poll;
};

// Copies the hooks that topdown's options have too.
template <class Options>
void set_hooks(Options& options, const CommandHooks& hooks) {
  options.progress = hooks.progress;
  options.watcher = hooks.watcher;
  options.cancelled = hooks.cancelled;
  options.interrupt = hooks.interrupt;
}

// A platform with a session; `own` if the command opened it.
struct OpenPlatform {
  target::Target target;  // as adopted from its device
  runtime::Session* session = nullptr;
  std::unique_ptr<runtime::Session> own;
};
OpenPlatform open_platform(const PlatformChoice& choice, const CacheOptions& cache,
                           const WorkWatcher& watcher);

// For kernels under test: the choice's session if they run in this process, else sessions in
// separate processes.
PlatformUnderTest open_under_test(const PlatformChoice& choice, const IsolationOptions& isolation,
                                  const WorkWatcher& watcher);
// For trusted kernels with untrusted inputs.
topdown::Platform trusted_platform(const PlatformChoice& choice, const OpenPlatform& open,
                                   const IsolationOptions& isolation);

// The libraries whose routines kernels may call: the user's, and those that tapml knows on this
// computer; without a value none are used.
library::LibraryOptions routine_options(const std::optional<LibraryFiles>& libraries,
                                        const PatternOptions& patterns);

// Options that the commands in reports repeat, for every command.
topdown::CommandOptions repeated_options(const PlatformChoice& target,
                                         const IsolationOptions& isolation,
                                         const std::string& kernels,
                                         const ToleranceChoice& tolerance);
// The same for the commands that run a model.
topdown::CommandOptions with_model(topdown::CommandOptions options, const ModelChoice& model,
                                   const EncoderTexts& texts);

// Logs them as warnings.
void log_each(const std::vector<std::string>& warnings);

}  // namespace tapml::app
