// What the primitives that mark loops (parallel, vectorize, unroll, bind) share.
#pragma once

#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"

namespace tapml::schedule::primitives {

// The loop, which must be serial still.
Site serial_loop(const tir::PrimFunc& func, const Var& loop, const std::string& primitive);
// Loops inside the loop, outside blocks.
std::vector<tir::Stmt> loops_inside(const Site& loop);
// No parallel or work-group loop around or inside.
void require_only_launch_axis(const Site& loop, const std::string& primitive);
void require_independent(const tir::PrimFunc& func, const Site& loop, const std::string& primitive);
// Why the loop's iterations cannot be lanes; empty where they can.
std::string why_not_lanes(const tir::PrimFunc& func, const Site& loop);
tir::PrimFuncRef with_kind(const tir::PrimFunc& func, const Site& loop, tir::ForKind kind);

}  // namespace tapml::schedule::primitives
