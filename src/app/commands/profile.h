// The command behind `tapml profile`: times a run, kernel by kernel.
#pragma once

#include "app/commands/choices.h"
#include "topdown/profile/profile.h"

namespace tapml::app {

struct ProfileCommand {
  ModelOptions model;
  std::string prompt;
  int64_t max_tokens = 32;  // decode steps
};

// `worked`: like CommandHooks::worked, and receives the model's calls. Throws.
topdown::Profiled profile(const ProfileCommand& command, const CommandHooks& hooks,
                          const std::function<void(const topdown::TraceTrack& calls)>& worked = {});

}  // namespace tapml::app
