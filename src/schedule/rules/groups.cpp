#include "schedule/rules/groups.h"

#include <set>

#include "arith/analyzer.h"

namespace tapml::schedule {

namespace {

constexpr int64_t kFewLanesOfAGroup = 8;

// The divisor of `var // c` in the expression; 0 if there is none or more than one.
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

// Splits the spatial iterator at `place_of`; false if the size is not known to divide its extent.
bool split_at(Stage& stage, size_t place_of, int64_t size) {
  arith::Analyzer analyzer;
  const tir::BlockIter iter = stage.spatial[place_of];
  if (!analyzer.prove_divisible(iter.extent, size)) return false;
  tir::BlockIter group = iter, place = iter;
  group.var = make_var(iter.var->name + "_group");
  group.extent = analyzer.simplify(floordiv(iter.extent, size));
  place.var = make_var(iter.var->name + "_place");
  place.extent = size;
  auto rewrite = [&](PrimExpr& e) { e = with_group(e, iter.var, size, group.var, place.var); };
  for (PrimExpr* e : {&stage.value, &stage.init_value, &stage.final_value}) rewrite(*e);
  for (PrimExpr& index : stage.indices) rewrite(index);
  for (PrimExpr& index : stage.final_indices) rewrite(index);
  for (tir::BlockIter& step : stage.reduction) rewrite(step.extent);
  stage.spatial[place_of] = group;
  stage.spatial.insert(stage.spatial.begin() + static_cast<std::ptrdiff_t>(place_of) + 1, place);
  return true;
}

}  // namespace

Stage split_groups(const Stage& stage) {
  if (!stage.simple) return stage;
  Stage result = stage;
  for (size_t i = 0; i + 1 < result.spatial.size(); ++i) {
    const int64_t size = group_size(result.value, result.spatial[i].var);
    if (size != 0 && split_at(result, i, size)) ++i;
  }
  return result;
}

Stage split_lanes(const Stage& stage) {
  if (!stage.simple || stage.reduces() || stage.spatial.empty()) return stage;
  const int64_t size = group_size(stage.final_value, stage.spatial.back().var);
  if (size < kFewLanesOfAGroup) return stage;
  Stage result = stage;
  split_at(result, stage.spatial.size() - 1, size);
  return result;
}

namespace {

bool is_quotient_or_rest(const PrimExpr& e, const Var& var) {
  return (e.kind() == ExprKind::kFloorDiv || e.kind() == ExprKind::kFloorMod) &&
         e.operand(0).same_as(var) && e.operand(1).is_int();
}

std::set<int64_t> divisors_of(const PrimExpr& value, const Var& var) {
  std::set<int64_t> divisors;
  visit_expr(value, [&](const PrimExpr& e) {
    if (is_quotient_or_rest(e, var)) divisors.insert(e.operand(1)->int_value);
  });
  return divisors;
}

}  // namespace

Stage split_steps(const Stage& stage) {
  if (!stage.simple || stage.reduction.size() != 1) return stage;
  const tir::BlockIter step = stage.reduction[0];
  const std::set<int64_t> divisors = divisors_of(stage.value, step.var);
  if (divisors.empty() || *divisors.begin() < 2 || !step.extent.is_int()) return stage;
  // Extents and strides, from the innermost iterator outward.
  std::vector<std::pair<tir::BlockIter, int64_t>> parts;
  int64_t stride = 1;
  auto add = [&](int64_t size) {
    tir::BlockIter part = step;
    part.var = make_var(step.var->name + "_" + std::to_string(parts.size()));
    part.extent = size / stride;
    parts.insert(parts.begin(), {part, stride});
    const bool whole = size % stride == 0;
    stride = size;
    return whole;
  };
  for (int64_t divisor : divisors) {
    if (!add(divisor)) return stage;
  }
  if (!add(step.extent->int_value)) return stage;
  // The part of k from stride `low` to below `high`, in units of `low`.
  auto count = [&](int64_t low, int64_t high) {
    PrimExpr sum = 0;
    for (const auto& [part, stride] : parts) {
      if (stride >= low && stride < high) sum = sum + part.var * (stride / low);
    }
    return sum;
  };
  Stage result = stage;
  result.value = rewrite_expr(stage.value, [&](const PrimExpr& e) {
    if (!is_quotient_or_rest(e, step.var)) return PrimExpr();
    const int64_t divisor = e.operand(1)->int_value;
    return e.kind() == ExprKind::kFloorDiv ? count(divisor, INT64_MAX) : count(1, divisor);
  });
  result.value = tapml::substitute(result.value, {{step.var.get(), count(1, INT64_MAX)}});
  result.reduction.clear();
  for (const auto& [part, stride] : parts) result.reduction.push_back(part);
  return result;
}

}  // namespace tapml::schedule
