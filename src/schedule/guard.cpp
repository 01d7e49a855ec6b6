#include "schedule/guard.h"

#include <cmath>

#include "tir/queries.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// The first value of `var` that the condition excludes, if it is var < limit or var <= limit - 1
// with a limit that does not use the reduction's variables; null otherwise.
PrimExpr upper_limit(const PrimExpr& condition, const Var& var, const Stage& stage) {
  if (condition.kind() != ExprKind::kLt && condition.kind() != ExprKind::kLe) return {};
  if (!condition.operand(0).same_as(var)) return {};
  const PrimExpr& bound = condition.operand(1);
  if (uses(bound, var)) return {};
  for (const BlockIter& step : stage.reduction) {
    if (uses(bound, step.var)) return {};
  }
  return condition.kind() == ExprKind::kLt ? bound : bound + 1;
}

// Clamps to [0, extent]. What the limit reads is valid only if the loop has iterations.
PrimExpr between_zero_and(const PrimExpr& limit, const PrimExpr& extent) {
  return select(lt(PrimExpr(0), extent), max(PrimExpr(0), min(limit, extent)), PrimExpr(0));
}

// What a reduction step adds to its element; null if the value has no such form.
PrimExpr contribution(const Stage& stage) {
  ExprKind kind = stage.value.kind();
  if (kind != ExprKind::kAdd && kind != ExprKind::kMax && kind != ExprKind::kMin) return {};
  const PrimExpr &own = stage.value.operand(0), &added = stage.value.operand(1);
  return is_load_of(own, stage.out) && !reads(added, stage.out) ? added : PrimExpr();
}

// Whether reducing with `value` leaves the element unchanged. Sums start at 0, so they are never
// -0, the only value that adding 0 would change.
bool changes_nothing(const Stage& stage, const PrimExpr& value) {
  if (!same_expr(value, stage.init_value)) return false;
  if (stage.value.kind() != ExprKind::kAdd) {
    return value.kind() == ExprKind::kInt || value.kind() == ExprKind::kFloat;
  }
  if (value.kind() == ExprKind::kFloat) {
    return value->float_value == 0 && !std::signbit(value->float_value);
  }
  return value.is_int(0);
}

}  // namespace

Stage without_idle_steps(const Stage& stage) {
  if (!stage.simple || !stage.reduces()) return stage;
  PrimExpr added = contribution(stage);
  if (!added || added.kind() != ExprKind::kSelect) return stage;
  if (!changes_nothing(stage, added.operand(2))) return stage;
  for (size_t i = 0; i < stage.reduction.size(); ++i) {
    const BlockIter& step = stage.reduction[i];
    PrimExpr limit = upper_limit(added.operand(0), step.var, stage);
    if (!limit) continue;
    Stage result = stage;
    result.reduction[i].extent = between_zero_and(limit, step.extent);
    result.value = make_binary(stage.value.kind(), stage.value.operand(0), added.operand(1));
    return result;
  }
  return stage;
}

std::optional<Split> split_last_iterator(const Stage& stage) {
  if (!stage.simple || stage.spatial.empty()) return std::nullopt;
  const BlockIter& last = stage.spatial.back();
  PrimExpr choice = stage.reduces() ? contribution(stage) : stage.final_value;
  if (!choice || choice.kind() != ExprKind::kSelect) return std::nullopt;
  PrimExpr limit = upper_limit(choice.operand(0), last.var, stage);
  if (!limit) return std::nullopt;
  Split split = {between_zero_and(limit, last.extent), stage, stage};
  if (stage.reduces()) {
    if (!changes_nothing(stage, choice.operand(2))) return std::nullopt;
    split.below.value = make_binary(stage.value.kind(), stage.value.operand(0), choice.operand(1));
    split.rest.reduction.clear();
    split.rest.final_value = rewrite_expr(stage.final_value, [&](const PrimExpr& e) {
      bool own = is_load_of(e, stage.out);
      return own ? stage.init_value : PrimExpr();
    });
    split.rest.value = split.rest.final_value;
  } else {
    split.below.final_value = split.below.value = choice.operand(1);
    split.rest.final_value = split.rest.value = choice.operand(2);
  }
  return split;
}

}  // namespace tapml::schedule
