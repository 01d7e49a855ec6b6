// Hooks to observe a compilation.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/work.h"
#include "ir/module.h"
#include "pipeline/pass_effect.h"

namespace tapml::pipeline {

// A pass that the table does not have.
struct AddedPass {
  std::string name;
  std::string after;  // a pass that runs before the kernels are formed: PassInfo::is_common()
  std::function<Module(const Module& module)> run;
};

// Called after every pass; each may be empty.
struct Instruments {
  // If set, text dumps are written to this folder as NN_<pass>.txt; for passes that changed
  // something, the difference as well, as NN_<pass>.diff.
  std::string dump_folder;
  // Runs the verifier and the annotation check after every pass.
  bool verify = false;
  // Seconds of each pass, appended in order.
  std::vector<std::pair<std::string, double>>* times = nullptr;
  // Called between passes and between kernels, on the caller's thread; an exception from it ends
  // the compilation.
  std::function<void()> poll;
  // Receives, from any thread, the number of passes that have run and of kernels that are scheduled
  // and compiled.
  WorkWatcher watcher = {};
  // Receives the Module after every pass; after a kernel-level step, with its current programs.
  std::function<void(const std::string& pass, const Module& module)> after;
  // Receives it before that and returns the one to use. Faults of passes are injected here.
  std::function<Module(const std::string& pass, Module module)> rewrite;
  // Passes, by name (PassInfo::without), to skip before the kernels are formed. The fusion policy
  // records them.
  std::vector<std::string> skip;
  // Passes of the caller, in order; those after the same pass run one after another. The fusion
  // policy names them, because the kernels that follow may be others.
  std::vector<AddedPass> added = {};
  // Receives the effect of each pass, including the difference of the texts if `diffs` is set.
  std::function<void(const PassEffect& effect)> effect;
  bool diffs = false;
};

// Whether `skip` contains the pass.
bool is_skipped(const Instruments& instruments, const std::string& pass);

}  // namespace tapml::pipeline
