// Dynamic-shape-aware schedules, selected by the structure of a kernel's loops.
#pragma once

#include <string>

#include "target/target.h"
#include "tir/prim_func.h"

namespace tapml::schedule {

struct Scheduled {
  tir::PrimFuncRef func;
  std::string rule;  // "cpu_matmul", "fallback", ...: printed in the report
};

// Prepares a legalized or fused tensor program for `target`'s code generation: inlines injective
// producers, makes outermost loops parallel (one launch each), accumulates reductions in local
// memory, and leaves global intermediates as top-level allocations (workspaces). Rules are tried in
// order; the last one, the fallback (one invocation an output element), accepts every program on
// every target.
Scheduled schedule_for(const tir::PrimFunc& func, const target::Target& target);

// Applies only the fallback rule.
Scheduled fallback(const tir::PrimFunc& func, const target::Target& target);

}  // namespace tapml::schedule
