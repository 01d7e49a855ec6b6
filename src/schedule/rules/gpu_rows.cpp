#include <algorithm>

#include "arith/analyzer.h"
#include "schedule/rules/gpu_groups.h"
#include "schedule/rules/row_buffers.h"
#include "schedule/rules/row_stages.h"
#include "schedule/rules/rules.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// A row with more elements than this is no work for one group where there are hardly any rows.
constexpr int64_t kLongRow = 1 << 15;
constexpr int64_t kFewGroups = 16;
constexpr int64_t kShortReduction = 8;  // steps that are no work for several threads

// One group a row. Stages run one after the other, a barrier between them.
class RowGroup {
 public:
  RowGroup(const Group& group, size_t depth) : group_(group), depth_(depth) {}

  // Local memory that reductions of `program` take.
  int64_t partial_bytes(const StagedProgram& program) const {
    int64_t bytes = 0;
    for (const Stage& stage : program.stages) {
      if (auto lanes = lanes_of(stage)) bytes += scratch_bytes(lanes->make_partials(stage, group_));
    }
    return bytes;
  }

  Stmt stage(const Stage& stage, const VarMap& at) {
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
    lanes->at = [=, this](const PrimExpr&) {
      VarMap values = at;
      // Teams without a point help with the last one.
      values.merge(decode(points, teams == count ? team : min(team, PrimExpr(count - 1))));
      return values;
    };
    if (teams > count) lanes->stores = [=](const PrimExpr&) { return lt(team, count); };
    Buffer partials = lanes->make_partials(stage, group_);
    shared_.push_back(partials);
    return lanes->emit(stage, *find_combination(stage), group_, partials);
  }

  const std::vector<Buffer>& shared() const { return shared_; }

 private:
  std::vector<BlockIter> points_of(const Stage& stage) const {
    return {stage.spatial.begin() + static_cast<std::ptrdiff_t>(depth_), stage.spatial.end()};
  }

  // Several threads a point, where there are fewer points than threads and steps enough.
  std::optional<LaneReduction> lanes_of(const Stage& stage) const {
    if (!find_combination(stage)) return std::nullopt;
    const PrimExpr count = product(points_of(stage));
    if (!count.is_int() || count->int_value < 1 || count->int_value > group_.threads / 2) {
      return std::nullopt;
    }
    const PrimExpr steps = reduction_steps(stage);
    if (steps.is_int() && steps->int_value < kShortReduction) return std::nullopt;
    LaneReduction result;
    // No team has more lanes than the reduction has steps.
    result.lanes = power_of_two_below(group_.threads / count->int_value);
    while (steps.is_int() && result.lanes > 1 && result.lanes / 2 >= steps->int_value) {
      result.lanes /= 2;
    }
    return result;
  }

  const Group& group_;
  size_t depth_;
  std::vector<Buffer> shared_;
};

// Elements that the largest stage of a row goes through; no more than `most` are counted.
int64_t longest_stage(const StagedProgram& program, size_t depth, int64_t most) {
  int64_t longest = 0;
  for (const Stage& stage : program.stages) {
    std::vector<BlockIter> iters(stage.spatial.begin() + static_cast<std::ptrdiff_t>(depth),
                                 stage.spatial.end());
    iters.insert(iters.end(), stage.reduction.begin(), stage.reduction.end());
    int64_t elements = 1;
    for (const BlockIter& iter : iters) {
      if (iter.extent.is_int()) elements = std::min(most, elements * iter.extent->int_value);
    }
    longest = std::max(longest, elements);
  }
  return longest;
}

}  // namespace

std::optional<LaunchPlan> gpu_rows(const PrimFunc& func, const Group& group,
                                   StagedProgram& program) {
  StagedProgram rows = program;
  std::optional<RowSpace> space = bring_rows_first(rows);
  if (!space) return std::nullopt;
  const size_t depth = space->size();
  const PrimExpr count = product(*space);
  const bool few = count.is_int() && count->int_value < kFewGroups;
  if (few && longest_stage(rows, depth, kLongRow) == kLongRow) return std::nullopt;
  RowGroup row(group, depth);
  const int64_t left = group.local_bytes - row.partial_bytes(rows);
  if (left < 0) return std::nullopt;
  std::vector<Buffer> kept =
      keep_rows(rows, depth, {.scope = Scope::kShared, .each = left, .together = left});
  share_output_memory(func, rows);
  Var item = make_var("row");
  VarMap at = decode(*space, item);
  std::vector<Stmt> parts;
  for (const Stage& stage : rows.stages) {
    if (!parts.empty()) parts.push_back(make_barrier());
    parts.push_back(row.stage(stage, at_row(stage, *space, at)));
  }
  kept.insert(kept.end(), row.shared().begin(), row.shared().end());
  program = std::move(rows);
  GroupWork work = {item, count, std::move(kept), make_seq(std::move(parts))};
  return LaunchPlan{launch_groups(group, work), "gpu_rows"};
}

}  // namespace tapml::schedule
