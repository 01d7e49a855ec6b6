#include "schedule/rules/rules.h"

namespace tapml::schedule {

namespace {
// Elements of the last axis in one item: enough to amortize its dispatch.
constexpr int64_t kPiece = 1024;
}  // namespace

std::optional<LaunchPlan> cpu_elementwise(const Stage& stage) {
  if (!stage.simple || stage.reduces() || stage.spatial.empty()) return std::nullopt;
  const tir::BlockIter& lane = stage.spatial.back();
  std::vector<tir::BlockIter> outer(stage.spatial.begin(), stage.spatial.end() - 1);
  bool whole = lane.extent.is_int() && lane.extent->int_value <= kPiece;
  if (!whole) {
    tir::BlockIter piece = lane;
    piece.var = make_var("piece");
    piece.extent = ceil_div(lane.extent, kPiece);
    outer.push_back(piece);
  }
  Var item = make_var("item");
  VarMap at = decode(outer, item);
  Var var = make_var(lane.var->name);
  PrimExpr extent = lane.extent;
  PrimExpr position = var;
  if (!whole) {
    PrimExpr start = at.at(outer.back().var.get()) * kPiece;
    extent = min(PrimExpr(kPiece), lane.extent - start);
    position = start + var;
  }
  at[lane.var.get()] = position;
  tir::Stmt body = tir::make_for(var, extent, emit_point(stage, at), tir::ForKind::kVectorized);
  return LaunchPlan{tir::make_for(item, product(outer), body, tir::ForKind::kParallel),
                    "cpu_elementwise"};
}

}  // namespace tapml::schedule
