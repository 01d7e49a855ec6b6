#include "schedule/rules/weight_panels.h"

#include <algorithm>

#include "base/rounding.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

bool is_of_weights(const PrimExpr& expr, const std::vector<Buffer>& weights, const Stage& stage,
                   const BlockIter& lane, const BlockIter* matrix) {
  std::vector<BlockIter> iters = stage.reduction;
  iters.push_back(lane);
  if (matrix) iters.push_back(*matrix);
  bool known = true;
  for (const BlockIter& iter : iters) known &= iter.extent.is_int();
  for (const Var& var : free_vars(expr)) {
    known &=
        std::ranges::any_of(iters, [&](const BlockIter& iter) { return var.same_as(iter.var); });
  }
  visit_expr(expr, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kLoad) return;
    const Buffer buffer = load_buffer(e);
    known &= std::find(weights.begin(), weights.end(), buffer) != weights.end();
    for (const PrimExpr& dim : buffer->shape) known &= dim.is_int();
  });
  return known;
}

WeightPanels::WeightPanels(const PrimExpr& right, const BlockIter& lane, int64_t lanes,
                           const Var& matrix)
    : lane_(lane), lanes_(lanes) {
  right_ = rewrite_expr(right, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kLoad) return PrimExpr();
    const size_t rank = e->operands.size();
    const bool of_matrix = rank == 3 && matrix && e.operand(0).same_as(matrix);
    fits_ &= (rank == 2 || of_matrix) && e.operand(rank - 2).same_as(lane_.var);
    if (!fits_) return PrimExpr();
    std::vector<PrimExpr> at = {floordiv(lane_.var, lanes_), e.operand(rank - 1),
                                floormod(lane_.var, lanes_)};
    if (of_matrix) at.insert(at.begin(), matrix);
    return load(panels_of(load_buffer(e)), std::move(at));
  });
}

Stmt WeightPanels::around(Stmt launches) const {
  std::vector<Stmt> all;
  for (const auto& [source, panels] : panels_) all.push_back(fill(source, panels));
  all.push_back(in_panels(launches));
  Stmt stmt = make_seq(std::move(all));
  for (const auto& [source, panels] : panels_) stmt = make_alloc(panels, stmt);
  return stmt;
}

Buffer WeightPanels::panels_of(const Buffer& source) {
  for (const auto& [known, panels] : panels_) {
    if (known == source) return panels;
  }
  Dims shape = {ceil_div(lane_.extent->int_value, lanes_), source->shape.back(), lanes_};
  if (source->shape.size() == 3) shape.insert(shape.begin(), source->shape[0]);
  panels_.emplace_back(source,
                       make_buffer(source->name + "_panels", source->dtype, shape, Scope::kGlobal));
  return panels_.back().second;
}

Stmt WeightPanels::fill(const Buffer& source, const Buffer& panels) const {
  Var panel = make_var("panel"), step = make_var("step"), lane = make_var("lane");
  const bool of_matrix = source->shape.size() == 3;
  const int64_t count = ceil_div(lane_.extent->int_value, lanes_);
  const PrimExpr number = of_matrix ? floormod(panel, count) : PrimExpr(panel);
  PrimExpr row = number * lanes_ + lane;
  if (lane_.extent->int_value % lanes_ != 0) row = min(row, lane_.extent - 1);
  std::vector<PrimExpr> from = {row, step}, to = {number, step, lane};
  PrimExpr extent = count;
  if (of_matrix) {
    const PrimExpr matrix = floordiv(panel, count);
    from.insert(from.begin(), matrix);
    to.insert(to.begin(), matrix);
    extent = source->shape[0] * count;
  }
  Stmt copy = make_store(panels, to, load(source, from));
  Stmt lanes = make_for(lane, lanes_, copy, ForKind::kVectorized);
  return make_for(panel, extent, make_for(step, source->shape.back(), lanes), ForKind::kParallel);
}

// Lane panel * lanes + l of the product is lane l of the panel.
Stmt WeightPanels::in_panels(const Stmt& stmt) const {
  return rewrite(stmt, [&](const PrimExpr& root) {
    return rewrite_expr(root, [&](const PrimExpr& e) {
      const bool quotient = e.kind() == ExprKind::kFloorDiv;
      if (!quotient && e.kind() != ExprKind::kFloorMod) return PrimExpr();
      if (!e.operand(1).is_int(lanes_)) return PrimExpr();
      PrimExpr at = e.operand(0), panel = 0;
      if (at.kind() == ExprKind::kAdd && at.operand(0).kind() == ExprKind::kMul &&
          at.operand(0).operand(1).is_int(lanes_)) {
        panel = at.operand(0).operand(0);
        at = at.operand(1);
      }
      if (!at.is_var() || at->name != lane_.var->name) return PrimExpr();
      return quotient ? panel : at;
    });
  });
}

}  // namespace tapml::schedule
