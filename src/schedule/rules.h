// Dynamic-shape-aware schedules, picked by looking at a kernel's loops.
#pragma once

#include <string>

#include "target/target.h"
#include "tir/prim_func.h"

namespace tapml::schedule {

struct Scheduled {
  tir::PrimFuncRef func;
  std::string rule;  // "cpu_matmul", "fallback", ...: goes into the report
};

// A legalized or fused tensor program made ready for `target`'s code generation: injective
// producers inlined, outermost loops parallel (one launch each), reductions accumulated in local
// memory, global intermediates left as top-level allocations (workspaces). Rules are tried in
// order; the last, the fallback (one invocation an output element), takes every program on every
// target.
Scheduled schedule_for(const tir::PrimFunc& func, const target::Target& target);

// The fallback alone.
Scheduled fallback(const tir::PrimFunc& func, const target::Target& target);

}  // namespace tapml::schedule
