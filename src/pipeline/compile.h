// Compiles a Module to an Executable: the ordered pass lists, by phase.
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

// Runs import .. fuse, after which the kernels are formed. Idempotent (a Module of that phase is
// returned unchanged). UserError for a skipped pass that is not optional.
Module form_kernels(const Module& module, const Instruments& instruments = {});

// External code of a kernel: `module` has the entries of all launches of `implementation`.
struct ForeignKernel {
  Implementation implementation;  // implement() sets its kernel and module numbers
  ModuleBlob module;
};

// Selects kernels by name.
using KernelChoice = std::function<bool(const std::string& kernel)>;

struct ImplementOptions {
  Instruments instruments;
  // Kernels, by name, that already have an implementation and need no routine or schedule. Their
  // reads and writes are unknown, so memory is planned as with `rewrite`.
  std::map<std::string, ForeignKernel> foreign;
  // Receives each implementation after scheduling and before code generation, and returns the one
  // to use. Faults are injected here.
  std::function<tir::PrimFuncRef(const std::string& kernel, tir::PrimFuncRef scheduled)> rewrite;
  // Kernels that `rewrite` may change; empty: all. The others need no schedule if they are cached.
  KernelChoice rewrites;
  // Cache of compiled kernels; null: none. Not used for kernels that `rewrite` changes, and for
  // OpenCL only with `module_per_kernel`.
  KernelCache* cache = nullptr;
  // Emits a module for each kernel if the driver builds modules, so that it builds only those that
  // it has not seen. Otherwise emits one for all, which loads faster.
  bool module_per_kernel = false;
  // Threads for lowering and code generation; 0: one a core. The result does not depend on it.
  int threads = 0;
  // The user's libraries, and the patterns that name their routines; the built-in ones are chosen
  // by the target (option `libs`).
  library::LibraryOptions libraries;
  // How memory is planned. Outputs reuse the storage of inputs, and tensors share one storage, only
  // without `rewrite` and `foreign`, since the behavior of such kernels is unknown.
  passes::PlanMemoryOptions memory;
  // Whether workspaces are planned with all other memory; otherwise each runner has its own.
  bool lift_workspaces = true;
  // Whether weights are packed once, by `prepare`; otherwise they are not packed.
  bool prepare = true;
  // Kernels that may use schedule rules, and those that may use library routines; the others get
  // the fallback schedule and generated code. Empty: all.
  KernelChoice scheduled_by_rules, from_libraries;
  // If set, receives each launch in its final form before code generation (CPU, OpenCL C, GLSL).
  std::function<void(const codegen::DeviceFunc& launch)> lowered;
  // If set, receives the Module after planning, the input of memory_report().
  Module* planned = nullptr;
  // If set, receives the optional functions that the target cannot compute.
  std::vector<OmittedFunction>* omitted_functions = nullptr;
};

// Skips passes that pass_table() allows to skip. UserError at `where` for any other.
void leave_out(const std::vector<std::string>& passes, const std::string& where,
               ImplementOptions& options);

// Runs the rest, from formed kernels to the executable for `target`: implement, plan memory,
// generate code.
std::shared_ptr<const Executable> implement(const Module& fixed, const target::Target& target,
                                            const ImplementOptions& options = {});

// Runs every step, in the order of pass_table().
std::shared_ptr<const Executable> compile(const Module& module, const target::Target& target,
                                          const ImplementOptions& options = {});

}  // namespace tapml::pipeline
