#include <algorithm>

#include "schedule/rules/access.h"
#include "schedule/rules/gpu_products.h"
#include "schedule/rules/panels.h"
#include "schedule/rules/rules.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kFewSteps = 16;        // too short to divide among threads
constexpr int64_t kStepsOfLane = 4;      // minimum; with fewer, the tree costs more than it saves
constexpr int64_t kColumnsOfTeam = 4;    // sharing one read of their left operand
constexpr int64_t kColumnsOfGroup = 16;  // adjacent in memory when steps are not

// Number of lanes for each point, such that each lane gets several steps.
int64_t lanes_for(const PrimExpr& steps, const Group& group) {
  if (!steps.is_int()) return group.threads;
  const int64_t most = std::max<int64_t>(1, steps->int_value / kStepsOfLane);
  return std::min(group.threads, power_of_two_below(most));
}

// The points of `stage` in pieces of the last iterator, one piece for each team.
std::optional<GroupWork> reduce_in_teams(const Stage& stage, const Group& group,
                                         LaneReduction lanes) {
  auto combination = find_combination(stage);
  if (!combination) return std::nullopt;
  std::vector<BlockIter> pieces = stage.spatial;
  const int64_t teams = lanes.teams(group);
  PrimExpr columns = 1;
  if (!pieces.empty()) {
    columns = pieces.back().extent;
    pieces.back().var = make_var("piece");
    pieces.back().extent = ceil_div(columns, teams * lanes.points);
  }
  GroupWork work;
  work.item = make_var("group");
  work.count = product(pieces);
  VarMap outer = decode(pieces, work.item);
  const bool covers = columns.is_int() && columns->int_value % (teams * lanes.points) == 0;
  PrimExpr first = lanes.team(group) * lanes.points;
  if (!pieces.empty()) {
    first = outer.at(pieces.back().var.get()) * (teams * lanes.points) + first;
  }
  lanes.at = [&](const PrimExpr& point) {
    VarMap values = outer;
    if (stage.spatial.empty()) return values;
    PrimExpr column = first + point;
    values[stage.spatial.back().var.get()] = covers ? column : min(column, columns - 1);
    return values;
  };
  if (!covers) lanes.stores = [&](const PrimExpr& point) { return lt(first + point, columns); };
  Buffer partials = lanes.make_partials(stage, group);
  if (partials) work.shared = {partials};
  if (work.local_bytes() > group.local_bytes) return std::nullopt;
  work.body = lanes.emit(stage, *combination, group, partials);
  return work;
}

}  // namespace

std::optional<GroupWork> few_row_product(const Stage& stage, const Group& group) {
  const PrimExpr steps = reduction_steps(stage);
  if (steps.is_int() && steps->int_value < kFewSteps) return std::nullopt;
  LaneReduction lanes;
  if (runs_along(stage, stage.reduction.back().var)) {
    lanes.lanes = lanes_for(steps, group);
    lanes.points = std::min(kColumnsOfTeam, lanes.lanes);
    if (lanes.lanes == 1) return std::nullopt;
  } else if (runs_along(stage, stage.spatial.back().var)) {
    const int64_t most = group.threads / kColumnsOfGroup;
    lanes.lanes = std::min(lanes_for(steps, group), std::max<int64_t>(1, most));
    lanes.neighbours = false;
  } else {
    return std::nullopt;
  }
  return reduce_in_teams(stage, group, lanes);
}

std::optional<LaunchPlan> gpu_reduction(const Stage& stage, const Group& group) {
  if (!find_combination(stage)) return std::nullopt;
  const PrimExpr steps = reduction_steps(stage);
  if (steps.is_int() && steps->int_value < kFewSteps) return std::nullopt;
  // If memory is contiguous along the points, mapping threads to points works as well.
  if (!stage.spatial.empty()) {
    if (runs_along(stage, stage.spatial.back().var)) return std::nullopt;
    if (!runs_along(stage, stage.reduction.back().var)) return std::nullopt;
  }
  LaneReduction lanes;
  lanes.lanes = lanes_for(steps, group);
  if (lanes.lanes == 1) return std::nullopt;
  auto work = reduce_in_teams(stage, group, lanes);
  if (!work) return std::nullopt;
  return LaunchPlan{launch_groups(group, *work), "gpu_reduction"};
}

}  // namespace tapml::schedule
