// What a group of kernels takes as one, against what its parts take: fusion is refused where that
// is more.
#pragma once

#include <optional>
#include <vector>

#include "passes/fusion_graph.h"

namespace tapml::passes {

// An estimate for the nodes `members` (ascending, the last one's result is the group's) as one
// kernel, in bytes of memory traffic: each of the loop nests that schedules leave moves its tensors
// or computes, whichever takes longer on a processor of two operations a byte; a launch and a call
// have their own price. Nothing where a tensor between the members would stay in memory, so that
// nothing is won: what a division or a function of math makes is kept unless one point alone reads
// it, and no expression grows without bound. In front of a sum over rows (not of a product) it may
// stay: schedules keep a row near.
std::optional<Samples> fused_time(const FusionGraph& graph, const std::vector<size_t>& members);

}  // namespace tapml::passes
