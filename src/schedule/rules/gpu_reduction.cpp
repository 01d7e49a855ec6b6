#include <algorithm>

#include "schedule/rules/access.h"
#include "schedule/rules/gpu_products.h"
#include "schedule/rules/panels.h"
#include "schedule/rules/rules.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kParts = 16;           // of a sum in one thread
constexpr int64_t kFewSteps = 16;        // no work for several threads
constexpr int64_t kStepsOfLane = 4;      // at least, or the tree costs more than it saves
constexpr int64_t kColumnsOfTeam = 4;    // that read their left operand once
constexpr int64_t kColumnsOfGroup = 16;  // neighbours in memory, where steps are not

// How many lanes a point has: no more than give each of them some steps.
int64_t lanes_for(const PrimExpr& steps, const Group& group) {
  if (!steps.is_int()) return group.threads;
  const int64_t most = std::max<int64_t>(1, steps->int_value / kStepsOfLane);
  return std::min(group.threads, power_of_two_below(most));
}

// The points of `stage` in pieces of the last iterator, one piece a team.
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
  if (lanes.lanes > 1) work.shared = {partials};
  if (work.local_bytes() > group.local_bytes) return std::nullopt;
  work.body = lanes.emit(stage, *combination, group, partials);
  return work;
}

// A point a thread, its sum in as many parts as a vector has elements: what lies along the sum is
// then read as vectors.
GroupWork sum_in_parts(const Stage& stage, const Combination& combination, const Group& group) {
  const PrimExpr points = product(stage.spatial), steps = reduction_steps(stage);
  GroupWork work;
  work.item = make_var("group");
  work.count = ceil_div(points, group.threads);
  const PrimExpr point = work.item * group.threads + group.thread;
  const VarMap at = decode(stage.spatial, point);
  Buffer sums = make_buffer(stage.out->name + "_parts", stage.out->dtype, {kParts}, Scope::kLocal);
  auto each_part = [&](const std::function<Stmt(const PrimExpr& part)>& body) {
    Var part = make_var("part");
    return make_for(part, kParts, body(part), ForKind::kUnrolled);
  };
  auto add = [&](const PrimExpr& part, const PrimExpr& step) {
    VarMap values = at;
    decode_reduction(stage, step, values);
    return make_store(
        sums, {part},
        combination(load(sums, {part}), value_at(combination.term, stage, values, {})));
  };
  Var piece = make_var("piece"), rest = make_var("rest");
  const PrimExpr pieces = floordiv(steps, kParts);
  std::vector<Stmt> stmts;
  stmts.push_back(each_part([&](const PrimExpr& part) {
    return make_store(sums, {part}, value_at(combination.neutral, stage, at, {}));
  }));
  stmts.push_back(make_for(piece, pieces, each_part([&](const PrimExpr& part) {
                             return add(part, piece * kParts + part);
                           })));
  const PrimExpr left = steps - pieces * kParts;
  if (!left.is_int() || left->int_value != 0) {
    stmts.push_back(make_for(rest, left, add(0, pieces * kParts + rest)));
  }
  for (int64_t half = kParts / 2; half > 0; half /= 2) {
    for (int64_t part = 0; part < half; ++part) {
      stmts.push_back(
          make_store(sums, {part}, combination(load(sums, {part}), load(sums, {part + half}))));
    }
  }
  stmts.push_back(store_final(stage, at, load(sums, {0})));
  work.body = make_if(lt(point, points), make_alloc(sums, make_seq(std::move(stmts))));
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
    const auto combination = find_combination(stage);
    if (group.cpu_like && combination) return sum_in_parts(stage, *combination, group);
    if (lanes.lanes == 1) return std::nullopt;
  } else if (!group.cpu_like && runs_along(stage, stage.spatial.back().var)) {
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
  // Neighbouring threads as neighbouring points are as good where memory runs along these.
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
