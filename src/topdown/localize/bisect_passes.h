// Which pass or choice of the compiler makes a model wrong on a platform: by leaving out what it
// can do without, then, kernel by kernel, by leaving it out there; where that changes nothing, by
// evaluating the program after each pass that it cannot do without.
#pragma once

#include <atomic>
#include <optional>

#include "topdown/localize/compiler_settings.h"
#include "topdown/replay/sandbox.h"
#include "topdown/verdict/model_check.h"

namespace tapml::topdown {

struct BisectPassesOptions {
  int64_t validation_tokens = 4;  // decode steps, teacher-forced
  std::vector<int32_t> eos;
  library::LibraryOptions libraries;
  // Planted bugs: of a pass (Instruments::rewrite), and of a schedule for the target
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

// Settings that make the model wrong when they, and no others, are on, and without any one of which
// that is right.
struct SettingCulprit {
  std::vector<std::string> settings;
  ModelCheck check;  // with them alone
  // Where one of them acts on single kernels: on these it has to act for the model to be wrong.
  std::vector<std::string> kernels;
};

// A pass that cannot be left out, before which the program means what it should.
struct PassCulprit {
  std::string pass;
  bool loops = false;         // by the loops of its kernels, else by its operators
  ModelCheck check;           // of the program after it
  std::string before, after;  // the program, as text
};

struct PassBisection {
  std::string source, target;
  DeviceInfo target_info;
  ModelCheck whole;  // the target with everything on
  ModelCheck bare;   // with everything left out that can be; only where `whole` is wrong
  std::vector<SettingCulprit> settings;
  std::optional<PassCulprit> pass;  // only where `bare` is wrong, too
  int64_t runs = 0;                 // of the model on the target
  int64_t evaluations = 0;          // of programs, by the interpreter
  double seconds = 0;

  bool found() const { return !whole.passed; }
};

// `source` runs the model with everything left out, for the tokens that are forced and for what the
// target's logits may be off. UserError for a module whose passes have run already; else as
// localize().
PassBisection bisect_passes(const Module& module, const std::map<std::string, HostTensor>& weights,
                            const std::vector<int32_t>& prompt, const Platform& source,
                            const Platform& target, const BisectPassesOptions& options);

}  // namespace tapml::topdown
