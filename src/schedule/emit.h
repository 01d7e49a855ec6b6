// Builds loops from stages: the building blocks of the rules.
#pragma once

#include "schedule/stage.h"

namespace tapml::schedule {

// The values of `iters` (row-major, last fastest) at flat position `item`.
VarMap decode(const std::vector<tir::BlockIter>& iters, const PrimExpr& item);
PrimExpr product(const std::vector<tir::BlockIter>& iters);

struct PointOptions {
  bool vectorize = false;  // the innermost reduction loop may be vectorized
  bool skip_idle = false;  // stop a reduction where its remaining steps contribute nothing
};

// Computes one spatial point of a stage, with its spatial iterators replaced by `at`. Reductions
// accumulate in a local buffer and store once. Loop variables are fresh.
tir::Stmt emit_point(const Stage& stage, const VarMap& at, const PointOptions& options = {});

// Emits loops over the stage's spatial iterators from number `first` on; `at` has the values of the
// earlier ones. Without a reduction the last loop is vectorized. With one, it is vectorized too if
// memory is contiguous along it (constant extent up to 512), with a local array of accumulators. If
// a select separates the points below a limit from the others, each part gets its own loop without
// the select.
tir::Stmt emit_nest(const Stage& stage, size_t first, VarMap at, bool vectorize);

// Computes `count` points of a reduction at once, starting at `first` of the last spatial iterator.
// The loop over them is innermost, inside the reduction, and their sums are a local array of `most`
// >= count elements. `at` has the other spatial iterators.
tir::Stmt emit_columns(const Stage& stage, VarMap at, const PrimExpr& first, const PrimExpr& count,
                       int64_t most);

// Whether a reduction's memory is contiguous along its last spatial iterator (of constant, moderate
// extent) rather than along the reduction.
bool runs_along_lane(const Stage& stage);

// Turns `body` into launches, wrapped in the allocations of the program's intermediates.
tir::PrimFuncRef finish(const tir::PrimFunc& func, const StagedProgram& program, tir::Stmt body,
                        int64_t workgroup_threads = 1);

}  // namespace tapml::schedule
