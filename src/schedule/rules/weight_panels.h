// Weights that are packed when they are loaded, in panels of lanes. Private to schedule/.
#pragma once

#include <utility>
#include <vector>

#include "schedule/stage.h"

namespace tapml::schedule {

// Whether `expr` can be computed when weights are loaded: it reads only weights and depends only on
// the lane, the reduction and `matrix` (null: none), whose extents are constants.
bool is_of_weights(const PrimExpr& expr, const std::vector<tir::Buffer>& weights,
                   const Stage& stage, const tir::BlockIter& lane,
                   const tir::BlockIter* matrix = nullptr);

// Panels of the weights that `right` is computed from: [panel, k // c, lane] of loads at
// [lane, k // c], and [matrix, panel, k // c, lane] of loads at [matrix, lane, k // c].
class WeightPanels {
 public:
  WeightPanels(const PrimExpr& right, const tir::BlockIter& lane, int64_t lanes,
               const Var& matrix = {});

  // null if a load has another form
  PrimExpr right() const { return fits_ ? right_ : PrimExpr(); }

  // The launches that fill the panels, followed by `launches`. Lanes past the end repeat the last
  // one.
  tir::Stmt around(tir::Stmt launches) const;

 private:
  tir::Buffer panels_of(const tir::Buffer& source);
  tir::Stmt fill(const tir::Buffer& source, const tir::Buffer& panels) const;
  tir::Stmt in_panels(const tir::Stmt& stmt) const;

  tir::BlockIter lane_;
  int64_t lanes_;
  std::vector<std::pair<tir::Buffer, tir::Buffer>> panels_;  // weights and their panels
  PrimExpr right_;
  bool fits_ = true;
};

}  // namespace tapml::schedule
