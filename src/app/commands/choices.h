// What the commands that judge kernels are given, and whom they tell, whoever calls them.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/cache.h"
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
  // A session that is open on it already, and outlives the command; null: one is opened.
  runtime::Session* session = nullptr;
  // What other sessions like it are opened with.
  LibraryFiles libraries;
  RemoteOptions remote;

  // Of a target's text: one that is opened.
  static PlatformChoice of(const std::string& target, const LibraryFiles& libraries,
                           const RemoteOptions& remote) {
    return {target::parse_target(target), nullptr, libraries, remote};
  }
};

// A language model, which the command reads unless it is there.
struct ModelChoice {
  std::string name;  // as reports and their commands have it
  PatternOptions patterns;
  ModelFormat format;
  std::shared_ptr<const LoadedModel> loaded;

  std::shared_ptr<const LoadedModel> load(const WorkWatcher& watcher) const;
};

// Exceptions from the bounds: a file, or a text that somebody has read already.
struct ToleranceChoice {
  std::string name;  // of the file; empty: no tolerances
  std::optional<std::string> text;

  topdown::Tolerances load() const;
  // As the commands of reports have it; empty where there is no such file.
  std::string file() const;
  // A warning for each that applies to none of the kernels.
  std::vector<std::string> unused(const topdown::Tolerances& tolerances,
                                  const std::set<std::string>& kernels) const;
};

// Whom a command tells how far it is, and who may end it. All may be empty.
struct CommandHooks {
  // The options are right; nothing has been opened. What it throws ends the command.
  std::function<void()> checked;
  // A session of this process on which the model or the kernels run, before they do.
  std::function<void(runtime::Session& session, const std::string& role)> opened;
  // The work is done, and the sessions are still open.
  std::function<void()> worked;
  // A phase of so many steps begins (0: nobody knows), and ends.
  std::function<void(const std::string& name, int64_t total)> phase;
  std::function<void(const std::string& summary)> phase_end;
  // As in topdown::MigrateOptions; of a command with phases, a step of the one that goes on.
  std::function<void(const std::string& step, int64_t done, int64_t total)> progress;
  WorkWatcher watcher;
  topdown::KernelWatcher watch;
  std::function<bool()> cancelled;
  const std::atomic<bool>* interrupt = nullptr;
  // Called during long work; what it throws ends that.
  std::function<void()> poll;
};

// Topdown's options that say the same.
template <class Options>
void set_hooks(Options& options, const CommandHooks& hooks) {
  options.progress = hooks.progress;
  options.watcher = hooks.watcher;
  options.cancelled = hooks.cancelled;
  options.interrupt = hooks.interrupt;
}

// A platform with a session, `own` where the command opened it.
struct OpenPlatform {
  target::Target target;  // as its device made it
  runtime::Session* session = nullptr;
  std::unique_ptr<runtime::Session> own;
};
OpenPlatform open_platform(const PlatformChoice& choice, const CacheOptions& cache,
                           const WorkWatcher& watcher);

// For kernels under test: the choice's session where they run in this process, else sessions in
// processes of their own.
PlatformUnderTest open_under_test(const PlatformChoice& choice, const IsolationOptions& isolation,
                                  const WorkWatcher& watcher);
// For kernels that are trusted, but whose inputs are not.
topdown::Platform trusted_platform(const PlatformChoice& choice, const OpenPlatform& open,
                                   const IsolationOptions& isolation);

// The libraries whose routines kernels may call: the user's, with what tapml knows on this machine;
// without a value none is looked for.
library::LibraryOptions routine_options(const std::optional<LibraryFiles>& libraries,
                                        const PatternOptions& patterns);

// Options that commands of reports repeat, whatever the command.
topdown::CommandOptions repeated_options(const PlatformChoice& target,
                                         const IsolationOptions& isolation,
                                         const std::string& kernels,
                                         const ToleranceChoice& tolerance);

// As warnings.
void log_each(const std::vector<std::string>& warnings);

}  // namespace tapml::app
