// A work group that computes the stages of a row. Private to schedule/.
#pragma once

#include <optional>
#include <vector>

#include "schedule/rules/gpu_groups.h"

namespace tapml::schedule {

// One group for each row, which the first `depth` spatial iterators of every stage identify.
// Threads divide the other points of a stage, or several threads reduce one point together. Stages
// need a barrier before they read the results of others.
class RowGroup {
 public:
  // `group` must outlive this object.
  RowGroup(const Group& group, size_t depth) : group_(group), depth_(depth) {}

  // Local memory needed by the reductions of `stages`.
  int64_t partial_bytes(const std::vector<Stage>& stages) const;
  // `at` has the row's iterators.
  tir::Stmt stage(const Stage& stage, const VarMap& at);
  // Buffers needed by the stages so far, to be allocated around the group's threads.
  const std::vector<tir::Buffer>& shared() const { return shared_; }

 private:
  std::vector<tir::BlockIter> points_of(const Stage& stage) const;
  // Several threads for each point, if there are fewer points than threads and enough steps.
  std::optional<LaneReduction> lanes_of(const Stage& stage) const;

  const Group& group_;
  size_t depth_;
  std::vector<tir::Buffer> shared_;
};

}  // namespace tapml::schedule
