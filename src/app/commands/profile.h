// The command that times a run, kernel by kernel: what `tapml profile` runs.
#pragma once

#include "app/commands/choices.h"
#include "topdown/profile/profile.h"

namespace tapml::app {

struct ProfileCommand {
  ModelOptions model;
  std::string prompt;
  int64_t max_tokens = 32;  // decode steps
};

struct Profiled {
  std::string target;
  std::vector<topdown::KernelProfile> kernels;  // the most costly first
  double seconds = 0;                           // sum over them
  topdown::Ceilings ceilings;
};

// `worked`: of the hooks, with the calls of the model, while the session is open. Throws.
Profiled profile(const ProfileCommand& command, const CommandHooks& hooks,
                 const std::function<void(const topdown::TraceTrack& calls)>& worked = {});

}  // namespace tapml::app
