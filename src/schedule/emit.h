// Loops from stages: the pieces that rules put together.
#pragma once

#include "schedule/stage.h"

namespace tapml::schedule {

// Values of `iters` (row-major, last fastest) at flat position `item`.
VarMap decode(const std::vector<tir::BlockIter>& iters, const PrimExpr& item);
PrimExpr product(const std::vector<tir::BlockIter>& iters);

struct PointOptions {
  bool vectorize = false;  // the innermost reduction loop may run as lanes
  bool skip_idle = false;  // a reduction may end where the rest of it adds nothing
};

// One spatial point of a stage, its spatial iterators replaced by `at`: reductions accumulate in a
// local buffer and store once. Loop variables are fresh.
tir::Stmt emit_point(const Stage& stage, const VarMap& at, const PointOptions& options = {});

// Spatial iterators of the stage from number `first` on as loops around its points, given values
// for the ones before. Without a reduction the last loop is vectorized; with one, it is too where
// memory runs along it (constant extent up to 512), the accumulators then being a local array.
// Where a select tells points below a limit from the others, each part gets a loop without it.
tir::Stmt emit_nest(const Stage& stage, size_t first, VarMap at, bool vectorize);

// `count` points of a reduction at once, from `first` of the last spatial iterator on: that loop is
// the innermost, inside the reduction, and their sums are a local array of `most` >= count
// elements. `at` has the other spatial iterators.
tir::Stmt emit_columns(const Stage& stage, VarMap at, const PrimExpr& first, const PrimExpr& count,
                       int64_t most);

// Whether a reduction's memory runs along its last spatial iterator (of constant, moderate extent)
// rather than along the reduction.
bool runs_along_lane(const Stage& stage);

// `body` as launches: allocations of the program's intermediates around it.
tir::PrimFuncRef finish(const tir::PrimFunc& func, const StagedProgram& program, tir::Stmt body,
                        int64_t workgroup_threads = 1);

}  // namespace tapml::schedule
