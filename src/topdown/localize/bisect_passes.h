// Finds the pass or choice of the compiler that makes a model wrong on a platform: turns off
// optional settings, first for the model and then kernel by kernel; if the model stays wrong,
// evaluates the program after each required pass.
#pragma once

#include <atomic>
#include <optional>

#include "llm/text_inputs.h"
#include "topdown/localize/compiler_settings.h"
#include "topdown/results/pass_bisection.h"
#include "topdown/runner/platform.h"

namespace tapml::topdown {

struct BisectPassesOptions {
  int64_t validation_tokens = 4;  // decode steps, teacher-forced
  std::vector<int32_t> eos;
  llm::TextInputs inputs;
  std::vector<std::vector<int32_t>> texts;  // as in SourceRunOptions
  library::LibraryOptions libraries;
  // Injected faults: in a pass (Instruments::rewrite), and in a schedule for the target
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

// `source` runs the model with all settings off, for the forced tokens and for the error that the
// target's logits may have. UserError for a module whose passes have already run; else as
// localize().
PassBisection bisect_passes(const Module& module, const std::map<std::string, HostTensor>& weights,
                            const std::vector<int32_t>& prompt, const Platform& source,
                            const Platform& target, const BisectPassesOptions& options);

}  // namespace tapml::topdown
