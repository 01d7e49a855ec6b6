#include "schedule/rules/groups.h"

#include "arith/analyzer.h"

namespace tapml::schedule {

namespace {

// The divisor of `var // c` in the expression; 0 where there is none, or more than one.
int64_t group_size(const PrimExpr& expr, const Var& var) {
  int64_t size = 0;
  bool several = false;
  visit_expr(expr, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kFloorDiv || !e.operand(0).same_as(var)) return;
    if (!e.operand(1).is_int() || e.operand(1)->int_value < 2) return;
    several |= size != 0 && size != e.operand(1)->int_value;
    size = e.operand(1)->int_value;
  });
  return several ? 0 : size;
}

PrimExpr with_group(const PrimExpr& expr, const Var& var, int64_t size, const Var& group,
                    const Var& place) {
  if (!expr) return expr;
  PrimExpr parts = rewrite_expr(expr, [&](const PrimExpr& e) {
    bool quotient = e.kind() == ExprKind::kFloorDiv, rest = e.kind() == ExprKind::kFloorMod;
    if (!quotient && !rest) return PrimExpr();
    if (!e.operand(0).same_as(var) || !e.operand(1).is_int(size)) return PrimExpr();
    return PrimExpr(quotient ? group : place);
  });
  return tapml::substitute(parts, {{var.get(), group * size + place}});
}

}  // namespace

Stage split_groups(const Stage& stage) {
  if (!stage.simple) return stage;
  Stage result = stage;
  arith::Analyzer analyzer;
  for (size_t i = 0; i + 1 < result.spatial.size(); ++i) {
    const tir::BlockIter iter = result.spatial[i];
    int64_t size = group_size(result.value, iter.var);
    if (size == 0 || !analyzer.prove_divisible(iter.extent, size)) continue;
    tir::BlockIter group = iter, place = iter;
    group.var = make_var(iter.var->name + "_group");
    group.extent = analyzer.simplify(floordiv(iter.extent, size));
    place.var = make_var(iter.var->name + "_place");
    place.extent = size;
    auto rewrite = [&](PrimExpr& e) { e = with_group(e, iter.var, size, group.var, place.var); };
    for (PrimExpr* e : {&result.value, &result.init_value, &result.final_value}) rewrite(*e);
    for (PrimExpr& index : result.indices) rewrite(index);
    for (PrimExpr& index : result.final_indices) rewrite(index);
    for (tir::BlockIter& step : result.reduction) rewrite(step.extent);
    result.spatial[i] = group;
    result.spatial.insert(result.spatial.begin() + static_cast<std::ptrdiff_t>(i) + 1, place);
    ++i;
  }
  return result;
}

}  // namespace tapml::schedule
