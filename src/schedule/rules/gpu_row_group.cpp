#include "schedule/rules/gpu_row_group.h"

#include "schedule/rules/row_buffers.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kShortReduction = 8;  // reductions of up to this many steps stay on one thread

}  // namespace

int64_t RowGroup::partial_bytes(const std::vector<Stage>& stages) const {
  int64_t bytes = 0;
  for (const Stage& stage : stages) {
    auto lanes = lanes_of(stage);
    Buffer partials = lanes ? lanes->make_partials(stage, group_) : nullptr;
    if (partials) bytes += scratch_bytes(partials);
  }
  return bytes;
}

Stmt RowGroup::stage(const Stage& stage, const VarMap& at) {
  const std::vector<BlockIter> points = points_of(stage);
  auto lanes = lanes_of(stage);
  if (!lanes) {
    return group_.share_out(product(points), [&](const PrimExpr& index) {
      VarMap values = at;
      values.merge(decode(points, index));
      return emit_point(stage, values, {.skip_idle = true});
    });
  }
  const PrimExpr team = lanes->team(group_);
  const int64_t teams = lanes->teams(group_);
  const int64_t count = product(points)->int_value;
  lanes->at = [=](const PrimExpr&) {
    VarMap values = at;
    // Teams without a point duplicate the last one.
    values.merge(decode(points, teams == count ? team : min(team, PrimExpr(count - 1))));
    return values;
  };
  if (teams > count) lanes->stores = [=](const PrimExpr&) { return lt(team, count); };
  Buffer partials = lanes->make_partials(stage, group_);
  if (partials) shared_.push_back(partials);
  return lanes->emit(stage, *find_combination(stage), group_, partials);
}

std::vector<BlockIter> RowGroup::points_of(const Stage& stage) const {
  return {stage.spatial.begin() + static_cast<std::ptrdiff_t>(depth_), stage.spatial.end()};
}

std::optional<LaneReduction> RowGroup::lanes_of(const Stage& stage) const {
  if (!find_combination(stage)) return std::nullopt;
  const PrimExpr count = product(points_of(stage));
  if (!count.is_int() || count->int_value < 1 || count->int_value > group_.threads / 2) {
    return std::nullopt;
  }
  const PrimExpr steps = reduction_steps(stage);
  if (steps.is_int() && steps->int_value < kShortReduction) return std::nullopt;
  LaneReduction result;
  // A team has no more lanes than the reduction has steps.
  result.lanes = power_of_two_below(group_.threads / count->int_value);
  while (steps.is_int() && result.lanes > 1 && result.lanes / 2 >= steps->int_value) {
    result.lanes /= 2;
  }
  return result;
}

}  // namespace tapml::schedule
