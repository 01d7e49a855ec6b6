#include <algorithm>

#include "schedule/rules/gpu_row_group.h"
#include "schedule/rules/row_buffers.h"
#include "schedule/rules/row_stages.h"
#include "schedule/rules/rules.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// A longer row is too much for one group when there are few rows.
constexpr int64_t kLongRow = 1 << 15;
constexpr int64_t kFewGroups = 16;

// Number of elements in the largest stage of a row, counted up to `most`.
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
  const int64_t left = group.local_bytes - row.partial_bytes(rows.stages);
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
