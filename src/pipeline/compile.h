// From a Module to an Executable: the ordered pass lists, by phase.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/work.h"
#include "exec/executable.h"
#include "ir/module.h"
#include "library/choose.h"
#include "passes/plan_memory.h"
#include "pipeline/optional_functions.h"
#include "pipeline/pass_effect.h"
#include "target/target.h"
#include "tir/prim_func.h"

namespace tapml::codegen {
struct DeviceFunc;
}

namespace tapml::pipeline {

class KernelCache;

// Called after every pass; any may be empty.
struct Instruments {
  // Text dumps go to this folder as NN_<pass>.txt, when set, and beside those of passes that
  // changed something the difference as NN_<pass>.diff.
  std::string dump_folder;
  // Runs the verifier and the annotation check after every pass.
  bool verify = false;
  // Seconds by pass, appended in order.
  std::vector<std::pair<std::string, double>>* times = nullptr;
  // Called between two passes and two kernels; what it throws ends the compilation.
  std::function<void()> poll;
  // Told, from any thread, how many passes have run, and how many kernels are scheduled and
  // compiled.
  WorkWatcher watcher = {};
  // Sees the Module after every pass.
  std::function<void(const std::string& pass, const Module& module)> after;
  // Sees it before that and returns the one to use. Planted bugs of passes come in here.
  std::function<Module(const std::string& pass, Module module)> rewrite;
  // Passes that are left out, by name: those that only improve a program (optional_passes()). The
  // boundary policy names them.
  std::vector<std::string> skip;
  // Hears what each pass changed; with `diffs` the difference of the texts, too.
  std::function<void(const PassEffect& effect)> effect;
  bool diffs = false;
};

// A pass by name, as `tapml opt --passes` knows it. All want a module that check_input takes.
struct PassInfo {
  const char* name;
  const char* phase;
  const char* doc;
  Module (*run)(const Module& module);
  const char* precondition = "nothing";  // what it requires beyond that, for people
  // The same for check_precondition(): passes that have nothing left to do, in order.
  std::vector<const char*> after = {};
  bool on_operators = false;  // not once all operators are kernels
  bool on_planned = false;    // also where memory is planned
};
// Phase of passes that compile() does not run: they are there to be called by name.
inline constexpr const char* kByName = "by name";
// Target-independent passes, in the order of the pipeline; then those that are called by name.
const std::vector<PassInfo>& pass_table();
// Runs a pass of the table by its name, as fix_kernels() runs its own: under the instruments, and
// counted by `number`. UserError for a name that no pass has, with the nearest, and for a module
// that is not as the pass requires it (pipeline/preconditions.h).
Module run_by_name(const Module& module, const std::string& pass, const Instruments& instruments,
                   int& number);
// Names of those that fix_kernels() can do without.
const std::vector<std::string>& optional_passes();

// import .. fuse: afterwards the kernels are fixed. Idempotent (a Module of that phase is returned
// as it is). UserError for a pass to skip that is not optional.
Module fix_kernels(const Module& module, const Instruments& instruments = {});

// A kernel's code from elsewhere: `module` has the entries of all launches of `implementation`.
struct ForeignKernel {
  Implementation implementation;  // its kernel and module are numbered by implement()
  ModuleBlob module;
};

// Which kernels, by name.
using KernelChoice = std::function<bool(const std::string& kernel)>;

struct ImplementOptions {
  Instruments instruments;
  // Kernels, by name, that have an implementation already: no routine and no schedule is looked
  // for. Nothing is known of how they read and write, so that memory is planned as with `rewrite`.
  std::map<std::string, ForeignKernel> foreign;
  // Sees each implementation after scheduling and before code generation, and returns the one to
  // use. Planted bugs come in here.
  std::function<tir::PrimFuncRef(const std::string& kernel, tir::PrimFuncRef scheduled)> rewrite;
  // Which kernels it may change; empty: all. The others need no schedule where the cache has them.
  KernelChoice rewrites;
  // Where compiled kernels are looked for and kept; null: nowhere. Not used for kernels that
  // `rewrite` changes, and for OpenCL only with `module_per_kernel`.
  KernelCache* cache = nullptr;
  // A module for each kernel where a driver builds modules, so that it builds those alone that it
  // has not seen. Else one for all, which loads faster.
  bool module_per_kernel = false;
  // Threads that generate native code; 0: one a core. The result does not depend on it.
  int threads = 0;
  // Libraries of the user, and the patterns that name their routines; tapml's own are the target's
  // choice (option `libs`).
  library::LibraryOptions libraries;
  // How memory is planned. Outputs take over inputs' storage, and tensors lie beside each other in
  // one, only where there is neither `rewrite` nor `foreign`: of what these make nothing is known.
  passes::PlanMemoryOptions memory;
  // Whether workspaces are planned with everything else; else each runner has its own.
  bool lift_workspaces = true;
  // Whether weights are packed once, by `prepare`; else implementations do without packed weights.
  bool prepare = true;
  // Kernels that schedule rules may take, and those that library routines may; the others get the
  // fallback's schedule, and generated code. Empty: all.
  KernelChoice scheduled_by_rules, from_libraries;
  // Sees each launch as the last step before code (of a processor, OpenCL C, GLSL), when set.
  std::function<void(const codegen::DeviceFunc& launch)> lowered;
  // Receives the Module after planning, when set: what memory_report() reads.
  Module* planned = nullptr;
  // Receives the optional functions that the target cannot compute, when set.
  std::vector<LeftOut>* left_out = nullptr;
};

// Leaves passes out: optional_passes(), and plan_memory, without which storage is made explicit all
// the same but each tensor has its own. UserError at `where` for any other.
void leave_out(const std::vector<std::string>& passes, const std::string& where,
               ImplementOptions& options);

// Kernels fixed -> executable for `target`: implement, plan memory, lower, generate code.
std::shared_ptr<const Executable> implement(const Module& fixed, const target::Target& target,
                                            const ImplementOptions& options = {});

// Both.
std::shared_ptr<const Executable> compile(const Module& module, const target::Target& target,
                                          const ImplementOptions& options = {});

}  // namespace tapml::pipeline
