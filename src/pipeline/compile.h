// From a Module to an Executable: the ordered pass lists, by phase.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "ir/module.h"
#include "passes/plan_memory.h"
#include "target/target.h"
#include "tir/prim_func.h"

namespace tapml::pipeline {

class KernelCache;

// Called after every pass; any may be empty.
struct Instruments {
  // Text dumps go to this folder as NN_<pass>.txt, when set.
  std::string dump_folder;
  // Runs the verifier and the annotation check after every pass.
  bool verify = false;
  // Seconds by pass, appended in order.
  std::vector<std::pair<std::string, double>>* times = nullptr;
  // Called between two passes and two kernels; what it throws ends the compilation.
  std::function<void()> poll;
};

// A pass by name, as `tapml opt --passes` knows it.
struct PassInfo {
  const char* name;
  const char* phase;
  const char* doc;
  Module (*run)(const Module& module);
};
// Target-independent passes, in the order of the pipeline.
const std::vector<PassInfo>& pass_table();

// import .. fuse: afterwards the kernels are fixed. Idempotent (a Module of that phase is returned
// as it is).
Module fix_kernels(const Module& module, const Instruments& instruments = {});

struct ImplementOptions {
  Instruments instruments;
  // Sees each implementation after scheduling and before code generation, and returns the one to
  // use. User kernels and planted bugs come in here.
  std::function<tir::PrimFuncRef(const std::string& kernel, tir::PrimFuncRef scheduled)> rewrite;
  // Where native kernels are looked for and kept; null: nowhere. Not used with `rewrite`.
  KernelCache* cache = nullptr;
  // Threads that generate native code; 0: one a core. The result does not depend on it.
  int threads = 0;
  // How memory is planned. Outputs take over inputs' storage only where there is no `rewrite`: of
  // what that makes nothing is known.
  passes::PlanMemoryOptions memory;
  // Whether workspaces are planned with everything else; else each runner has its own.
  bool lift_workspaces = true;
  // Receives the Module after planning, when set: what memory_report() reads.
  Module* planned = nullptr;
};

// Kernels fixed -> executable for `target`: implement, plan memory, lower, generate code.
std::shared_ptr<const Executable> implement(const Module& fixed, const target::Target& target,
                                            const ImplementOptions& options = {});

// Both.
std::shared_ptr<const Executable> compile(const Module& module, const target::Target& target,
                                          const ImplementOptions& options = {});

}  // namespace tapml::pipeline
