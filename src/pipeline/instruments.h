// Who watches a compilation.
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

// Called after every pass; any may be empty.
struct Instruments {
  // Text dumps go to this folder as NN_<pass>.txt, when set, and beside those of passes that
  // changed something the difference as NN_<pass>.diff.
  std::string dump_folder;
  // Runs the verifier and the annotation check after every pass.
  bool verify = false;
  // Seconds by pass, appended in order.
  std::vector<std::pair<std::string, double>>* times = nullptr;
  // Called between two passes and two kernels, on the caller's thread; what it throws ends the
  // compilation.
  std::function<void()> poll;
  // Told, from any thread, how many passes have run, and how many kernels are scheduled and
  // compiled.
  WorkWatcher watcher = {};
  // Sees the Module after every pass; after a step on kernels with the programs that it left.
  std::function<void(const std::string& pass, const Module& module)> after;
  // Sees it before that and returns the one to use. Injected faults of passes come in here.
  std::function<Module(const std::string& pass, Module module)> rewrite;
  // Passes that are left out before the kernels are formed, by name (PassInfo::without). The
  // fusion policy names them.
  std::vector<std::string> skip;
  // Passes of the caller, in order; those after the same pass run one after another. The fusion
  // policy names them, because the kernels that follow may be others.
  std::vector<AddedPass> added = {};
  // Hears what each pass changed; with `diffs` the difference of the texts, too.
  std::function<void(const PassEffect& effect)> effect;
  bool diffs = false;
};

// Whether `skip` names the pass.
bool is_skipped(const Instruments& instruments, const std::string& pass);

}  // namespace tapml::pipeline
