// What the compiler can do without: the parts of a bisection over its passes.
#pragma once

#include <string>
#include <vector>

#include "pipeline/compile.h"

namespace tapml::topdown {

// Which kernels of its own a setting acts on, where it acts on single kernels.
enum class SettingScope : uint8_t { kModule, kFusion, kRules, kRoutines };

struct CompilerSetting {
  std::string name;  // of a pass, or "schedule_rules", "libraries", "memory_reuse", ...
  std::string doc;   // what it does
  SettingScope scope = SettingScope::kModule;
  // Leaves it out.
  std::function<void(pipeline::ImplementOptions& options)> leave_out;
};

// Optional passes in the order of the pipeline, then what follows when kernels are implemented.
const std::vector<CompilerSetting>& compiler_settings();

}  // namespace tapml::topdown
