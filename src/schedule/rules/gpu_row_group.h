// A work group that runs the stages of a row. Private to schedule/.
#pragma once

#include <optional>
#include <vector>

#include "schedule/rules/gpu_groups.h"

namespace tapml::schedule {

// One group a row, of which the first `depth` spatial iterators of every stage are; threads share
// out what is left of a stage, or several reduce a point together. Stages that read what others
// make want a barrier between them.
class RowGroup {
 public:
  // `group` outlives it.
  RowGroup(const Group& group, size_t depth) : group_(group), depth_(depth) {}

  // Local memory that reductions of `stages` take.
  int64_t partial_bytes(const std::vector<Stage>& stages) const;
  // `at` has the row's iterators.
  tir::Stmt stage(const Stage& stage, const VarMap& at);
  // That the stages so far want, to allocate around the group's threads.
  const std::vector<tir::Buffer>& shared() const { return shared_; }

 private:
  std::vector<tir::BlockIter> points_of(const Stage& stage) const;
  // Several threads a point, where there are fewer points than threads and steps enough.
  std::optional<LaneReduction> lanes_of(const Stage& stage) const;

  const Group& group_;
  size_t depth_;
  std::vector<tir::Buffer> shared_;
};

}  // namespace tapml::schedule
