// Which pass or choice of the compiler makes a model wrong on a platform: by leaving out what it
// can do without, then, kernel by kernel, by leaving it out there; where that changes nothing, by
// evaluating the program after each pass that it cannot do without.
#pragma once

#include <atomic>
#include <optional>

#include "topdown/localize/compiler_settings.h"
#include "topdown/results/pass_bisection.h"
#include "topdown/runner/platform.h"

namespace tapml::topdown {

struct BisectPassesOptions {
  int64_t validation_tokens = 4;  // decode steps, teacher-forced
  std::vector<int32_t> eos;
  library::LibraryOptions libraries;
  // Injected faults: of a pass (Instruments::rewrite), and of a schedule for the target
  // (ImplementOptions::rewrite).
  std::function<Module(const std::string& pass, Module module)> rewrite_pass;
  std::function<tir::PrimFuncRef(const std::string& kernel, tir::PrimFuncRef scheduled)> rewrite;
  pipeline::KernelCache* cache = nullptr;  // null: none
  // As in MigrateOptions.
  std::function<void(const std::string& step, int64_t done, int64_t total)> progress;
  WorkWatcher watcher;
  std::function<bool()> cancelled;
  const std::atomic<bool>* interrupt = nullptr;
};

// `source` runs the model with everything left out, for the tokens that are forced and for what the
// target's logits may be off. UserError for a module whose passes have run already; else as
// localize().
PassBisection bisect_passes(const Module& module, const std::map<std::string, HostTensor>& weights,
                            const std::vector<int32_t>& prompt, const Platform& source,
                            const Platform& target, const BisectPassesOptions& options);

}  // namespace tapml::topdown
