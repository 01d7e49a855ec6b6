// Shared by the primitives that mark loops (parallel, vectorize, unroll, bind).
#pragma once

#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"

namespace tapml::schedule::primitives {

// Finds the loop, which must still be serial.
Site serial_loop(const tir::PrimFunc& func, const Var& loop, const std::string& primitive);
// The loops inside the loop, outside blocks.
std::vector<tir::Stmt> loops_inside(const Site& loop);
// Refuses if there is a parallel or work-group loop around or inside.
void require_only_launch_axis(const Site& loop, const std::string& primitive);
// The reason why the loop cannot be a dimension of the grid: it is neither an outermost loop nor
// directly inside the loop of the dimension before. Empty if it can.
std::string why_no_grid_dimension(const Site& loop);
void require_independent(const tir::PrimFunc& func, const Site& loop, const std::string& primitive);
// The reason why the loop's iterations cannot be lanes; empty if they can.
std::string why_not_lanes(const tir::PrimFunc& func, const Site& loop);
tir::PrimFuncRef with_kind(const tir::PrimFunc& func, const Site& loop, tir::ForKind kind);

}  // namespace tapml::schedule::primitives
