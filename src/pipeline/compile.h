// From a Module to an Executable: the ordered pass lists, by phase.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "ir/module.h"
#include "library/choose.h"
#include "passes/plan_memory.h"
#include "pipeline/instruments.h"
#include "pipeline/optional_functions.h"
#include "pipeline/pass_table.h"
#include "target/target.h"
#include "tir/prim_func.h"

namespace tapml::codegen {
struct DeviceFunc;
}

namespace tapml::pipeline {

class KernelCache;

// import .. fuse: afterwards the kernels are formed. Idempotent (a Module of that phase is returned
// as it is). UserError for a pass to skip that is not optional.
Module form_kernels(const Module& module, const Instruments& instruments = {});

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
  // use. Injected faults come in here.
  std::function<tir::PrimFuncRef(const std::string& kernel, tir::PrimFuncRef scheduled)> rewrite;
  // Which kernels it may change; empty: all. The others need no schedule where the cache has them.
  KernelChoice rewrites;
  // Where compiled kernels are looked for and kept; null: nowhere. Not used for kernels that
  // `rewrite` changes, and for OpenCL only with `module_per_kernel`.
  KernelCache* cache = nullptr;
  // A module for each kernel where a driver builds modules, so that it builds those alone that it
  // has not seen. Else one for all, which loads faster.
  bool module_per_kernel = false;
  // Threads that lower kernels and generate code; 0: one a core. The result does not depend on it.
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
  std::vector<OmittedFunction>* omitted_functions = nullptr;
};

// Leaves passes out: those that pass_table() says of what happens without them. UserError at
// `where` for any other.
void leave_out(const std::vector<std::string>& passes, const std::string& where,
               ImplementOptions& options);

// The rest, from kernels that are formed to the executable for `target`: implement, plan memory,
// generate code.
std::shared_ptr<const Executable> implement(const Module& fixed, const target::Target& target,
                                            const ImplementOptions& options = {});

// Both: every step, in the order of pass_table().
std::shared_ptr<const Executable> compile(const Module& module, const target::Target& target,
                                          const ImplementOptions& options = {});

}  // namespace tapml::pipeline
