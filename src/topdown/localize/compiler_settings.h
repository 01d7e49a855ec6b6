// Optional parts of the compiler, over which passes are bisected.
#pragma once

#include <string>
#include <vector>

#include "pipeline/compile.h"

namespace tapml::topdown {

// The kernels on which a setting acts, if it acts on single kernels.
enum class SettingScope : uint8_t { kModule, kFusion, kRules, kRoutines };

struct CompilerSetting {
  std::string name;  // of a pass, or "schedule_rules", "libraries", "memory_reuse", ...
  std::string doc;   // what it does
  SettingScope scope = SettingScope::kModule;
  // Turns it off.
  std::function<void(pipeline::ImplementOptions& options)> leave_out;
};

// Optional passes in the order of the pipeline, then the choices made when kernels are implemented.
const std::vector<CompilerSetting>& compiler_settings();

}  // namespace tapml::topdown
