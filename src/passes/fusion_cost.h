// Compares the cost of a group of kernels as one kernel with the cost of its parts; fusion is
// refused where one kernel costs more.
#pragma once

#include <optional>
#include <vector>

#include "passes/fusion_graph.h"

namespace tapml::passes {

// Estimates the cost of the nodes `members` (ascending, the last one's result is the group's) as
// one kernel, in bytes of memory traffic: each loop nest that remains after scheduling moves its
// tensors or computes, whichever takes longer on a processor with two operations per byte; a launch
// and a call have their own price. Returns nothing where a tensor between the members would stay in
// memory, since fusion would gain nothing: the result of a division or math function is kept unless
// only one point reads it, and the growth of expressions is limited. Before a sum over rows (not a
// product) it may stay: schedules keep a row near.
std::optional<Samples> fused_time(const FusionGraph& graph, const std::vector<size_t>& members);

}  // namespace tapml::passes
