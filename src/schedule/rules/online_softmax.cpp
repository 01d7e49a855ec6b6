#include "schedule/rules/online_softmax.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "arith/analyzer.h"
#include "schedule/guard.h"
#include "schedule/rules/gpu_groups.h"
#include "tir/queries.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

bool is_zero(const PrimExpr& e) {
  return e.is_int(0) || (e.kind() == ExprKind::kFloat && e->float_value == 0);
}

// Whether `e` is a multiple of an expression accepted by `is_unit`, by a factor independent of
// `buffer`.
bool is_multiple(const PrimExpr& e, const Buffer& buffer,
                 const std::function<bool(const PrimExpr&)>& is_unit) {
  auto multiple = [&](size_t i) { return is_multiple(e.operand(i), buffer, is_unit); };
  auto factor = [&](size_t i) { return !reads(e.operand(i), buffer); };
  if (is_unit(e) || is_zero(e)) return true;
  switch (e.kind()) {
    case ExprKind::kSelect:
      return factor(0) && multiple(1) && multiple(2);
    case ExprKind::kMul:
      return (multiple(0) && factor(1)) || (factor(0) && multiple(1));
    case ExprKind::kDiv:
      return multiple(0) && factor(1);
    default:
      return false;
  }
}

// exp(x - peak)
bool is_relative_exp(const PrimExpr& e, const Buffer& peak) {
  if (e.kind() != ExprKind::kCall || e->name != "exp") return false;
  const PrimExpr& shifted = e.operand(0);
  return shifted.kind() == ExprKind::kSub && is_load_of(shifted.operand(1), peak) &&
         !reads(shifted.operand(0), peak);
}

bool is_f32(const Stage& stage) { return stage.simple && stage.out->dtype == DType::kF32; }

// Whether the stage is elementwise in positions and stores its value without an epilogue.
bool is_of_positions(const Stage& stage, size_t depth) {
  return is_f32(stage) && stage.spatial.size() == depth + 1 && stage.final_out == stage.out;
}

// Whether rows without a score above negative infinity, in their first pieces or at all, are
// computed correctly. A finite minimum score is handled like any other. Negative infinity minus
// itself is NaN, which must stay out of sums that may get scores later: in that case the maximum
// starts at the lowest finite number. A row that never gets a score then yields 0 over 0 instead of
// NaN over NaN: equivalent if only the quotient is stored.
bool begins_well(const OnlineSoftmax& s) {
  const PrimExpr& least = s.peak.init_value;
  if (least.kind() != ExprKind::kFloat || std::isnan(least->float_value)) return false;
  PrimExpr last = s.values.final_value;
  while (last.kind() == ExprKind::kCast) last = last.operand(0);
  return std::isfinite(least->float_value) ||
         (last.kind() == ExprKind::kDiv && is_load_of(last.operand(0), s.values.out) &&
          is_load_of(last.operand(1), s.total.out));
}

// Whether the stage reduces over positions only.
bool is_over_positions(const Stage& stage, ExprKind op) {
  if (!is_f32(stage) || stage.reduction.size() != 1) return false;
  auto combination = find_combination(stage);
  return combination && combination->op == op;
}

// Whether every load of `buffer`, written by `maker` for each position, is at position `own`.
bool reads_own_position(const PrimExpr& value, const Stage& maker, const Var& own) {
  const Var& position = maker.spatial.back().var;
  const auto dimension = std::ranges::find_if(
      maker.final_indices, [&](const PrimExpr& index) { return index.same_as(position); });
  if (dimension == maker.final_indices.end()) return false;
  const auto d = static_cast<size_t>(dimension - maker.final_indices.begin());
  bool good = true;
  visit_expr(value, [&](const PrimExpr& e) {
    if (is_load_of(e, maker.final_out)) good &= e.operand(d).same_as(own);
  });
  return good;
}

// `stage` with loads of the exponentials replaced by the exponentials themselves.
Stage with_exps(const Stage& stage, const Stage& exps, size_t depth) {
  VarMap values;
  for (size_t d = 0; d < depth; ++d) values[exps.spatial[d].var.get()] = stage.spatial[d].var;
  values[exps.spatial.back().var.get()] = stage.reduction[0].var;
  const PrimExpr value = tapml::substitute(exps.value, values);
  Stage result = stage;
  result.value = rewrite_expr(
      stage.value, [&](const PrimExpr& e) { return is_load_of(e, exps.out) ? value : PrimExpr(); });
  return result;
}

// Whether the stages read from each other only what an online softmax allows.
bool reads_what_it_may(const OnlineSoftmax& s) {
  struct Use {
    const Stage& reader;
    std::vector<const Stage*> allowed;
  };
  const Use uses[] = {{s.scores, {}},
                      {s.peak, {&s.scores}},
                      {s.exps, {&s.scores, &s.peak}},
                      {s.total, {&s.exps}},
                      {s.values, {&s.exps}}};
  for (const Use& use : uses) {
    for (const Stage* made : {&s.scores, &s.peak, &s.exps, &s.total, &s.values}) {
      if (made == &use.reader || std::ranges::find(use.allowed, made) != use.allowed.end())
        continue;
      if (reads(use.reader.value, made->final_out)) return false;
    }
  }
  const PrimExpr& last = s.values.final_value;
  return !reads(last, s.scores.out) && !reads(last, s.exps.out) &&
         s.total.final_out == s.total.out && s.peak.final_out == s.peak.out;
}

}  // namespace

std::optional<OnlineSoftmax> find_online_softmax(const StagedProgram& rows, const RowSpace& space,
                                                 const VarMap& at) {
  const size_t depth = space.size();
  if (rows.stages.size() != 5) return std::nullopt;
  OnlineSoftmax s = {rows.stages[0], rows.stages[1], rows.stages[2],
                     rows.stages[3], rows.stages[4], {}};
  if (!is_of_positions(s.scores, depth) || !is_of_positions(s.exps, depth) || s.exps.reduces() ||
      !is_over_positions(s.peak, ExprKind::kMax) || !is_over_positions(s.total, ExprKind::kAdd) ||
      !is_over_positions(s.values, ExprKind::kAdd) || s.peak.spatial.size() != depth ||
      !begins_well(s) || s.total.spatial.size() != depth || !reads_what_it_may(s)) {
    return std::nullopt;
  }
  auto is_exp = [&](const PrimExpr& e) { return is_relative_exp(e, s.peak.out); };
  auto is_load = [&](const PrimExpr& e) { return is_load_of(e, s.exps.out); };
  if (!is_multiple(s.exps.value, s.peak.out, is_exp) ||
      !reads_own_position(s.peak.value, s.scores, s.peak.reduction[0].var) ||
      !reads_own_position(s.exps.value, s.scores, s.exps.spatial.back().var)) {
    return std::nullopt;
  }
  arith::Analyzer analyzer;
  const PrimExpr& all = s.scores.spatial.back().extent;
  if (!analyzer.prove_equal(s.exps.spatial.back().extent, all)) return std::nullopt;
  for (const Stage* stage : {&s.peak, &s.total, &s.values}) {
    if (!analyzer.prove_equal(stage->reduction[0].extent, all)) return std::nullopt;
  }
  for (const Stage* sum : {&s.total, &s.values}) {
    if (!is_multiple(find_combination(*sum)->term, s.exps.out, is_load) ||
        !reads_own_position(sum->value, s.exps, sum->reduction[0].var)) {
      return std::nullopt;
    }
  }
  auto positions = [&](const Stage& stage) {
    return tapml::substitute(without_idle_steps(stage).reduction[0].extent,
                             at_row(stage, space, at));
  };
  s.positions = positions(s.peak);
  if (!same_expr(s.positions, positions(with_exps(s.total, s.exps, depth))) ||
      !same_expr(s.positions, positions(with_exps(s.values, s.exps, depth)))) {
    s.positions = all;
    return s;
  }
  // The loop bound already ensures that a position is one of the row's.
  for (Stage* stage : {&s.peak, &s.total, &s.values}) *stage = without_idle_steps(*stage);
  for (Stage* stage : {&s.scores, &s.exps}) {
    const auto split = split_last_iterator(*stage);
    if (!split) continue;
    const PrimExpr limit = tapml::substitute(split->limit, at_row(*stage, space, at));
    if (same_expr(limit, s.positions)) *stage = split->below;
  }
  return s;
}

}  // namespace tapml::schedule
