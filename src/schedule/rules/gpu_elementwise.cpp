#include "schedule/rules/access.h"
#include "schedule/rules/gpu_groups.h"
#include "schedule/rules/rules.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

constexpr int64_t kLanes = 4;  // 32-bit elements that devices load at once

bool is_word(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kI32 || dtype == DType::kU32;
}

bool in_lanes(const Buffer& buffer) {
  return is_word(buffer->dtype) && !buffer->shape.empty() && buffer->shape.back().is_int() &&
         buffer->shape.back()->int_value % kLanes == 0;
}

}  // namespace

std::optional<LaunchPlan> gpu_elementwise(const Stage& stage) {
  if (!stage.simple || stage.reduces() || stage.spatial.empty()) return std::nullopt;
  const BlockIter& last = stage.spatial.back();
  if (!last.extent.is_int() || last.extent->int_value % kLanes != 0 || !in_lanes(stage.final_out) ||
      !stage.final_indices.back().same_as(last.var) || !runs_along(stage, last.var)) {
    return std::nullopt;
  }
  // Accesses that vary across lanes need 32-bit elements, indexed by the last iterator itself.
  bool fits = true;
  visit_expr(stage.final_value, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kLoad || e->operands.empty()) return;
    if (stride_of(e->operands.back(), last.var) == std::optional<int64_t>(0)) return;
    fits &= in_lanes(load_buffer(e)) && e->operands.back().same_as(last.var);
  });
  if (!fits) return std::nullopt;
  std::vector<BlockIter> pieces = stage.spatial;
  pieces.back().var = make_var("piece");
  pieces.back().extent = last.extent->int_value / kLanes;
  Var item = make_var("item"), lane = make_var("lane");
  VarMap at = decode(pieces, item);
  at[last.var.get()] = at.at(pieces.back().var.get()) * kLanes + lane;
  Stmt body = make_for(lane, kLanes, emit_point(stage, at), ForKind::kVectorized);
  return LaunchPlan{make_for(item, product(pieces), body, ForKind::kParallel), "gpu_elementwise"};
}

}  // namespace tapml::schedule
