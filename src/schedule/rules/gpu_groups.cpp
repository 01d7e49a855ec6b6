#include "schedule/rules/gpu_groups.h"

#include <algorithm>

#include "arith/analyzer.h"
#include "schedule/guard.h"
#include "schedule/rules/row_buffers.h"
#include "tir/queries.h"
#include "tir/subgroup.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

int64_t power_of_two_below(int64_t value) {
  int64_t power = 1;
  while (power <= value / 2) power *= 2;
  return power;
}

Group::Group(const target::Description& description)
    : threads(power_of_two_below(std::max<int64_t>(
          1, std::min(description.workgroup_threads, description.limits.max_workgroup_threads)))),
      local_bytes(description.features.local_memory ? description.limits.max_local_memory : 0) {
  const int64_t width = description.features.subgroups ? description.subgroup_width : 1;
  if (width < 2 || threads % width != 0) return;
  subgroup = width;
  // If the subgroup size is only known at run time, the code exchanges one value of each dtype for
  // each thread (codegen/source/subgroup.h).
  constexpr int64_t kDTypes = 3, kBytes = 4;
  local_bytes = std::max<int64_t>(0, local_bytes - kDTypes * kBytes * threads);
}

Group Group::of_one_subgroup() const {
  Group group = *this;
  group.threads = subgroup;
  return group;
}

Stmt Group::share_out(const PrimExpr& extent,
                      const std::function<Stmt(const PrimExpr& index)>& body) const {
  const bool is_known = extent.is_int();
  if (is_known && extent->int_value <= threads) {
    return extent.is_int(threads) ? body(thread) : make_if(lt(thread, extent), body(thread));
  }
  Var round = make_var("round");
  PrimExpr index = round * threads + thread;
  Stmt inner = body(index);
  if (!is_known || extent->int_value % threads != 0) inner = make_if(lt(index, extent), inner);
  return make_for(round, ceil_div(extent, threads), inner);
}

int64_t GroupWork::local_bytes() const {
  int64_t bytes = 0;
  for (const Buffer& buffer : shared) bytes += scratch_bytes(buffer);
  return bytes;
}

Stmt launch_groups(const Group& group, const GroupWork& work) {
  Stmt body = make_for(group.thread, group.threads, work.body, ForKind::kThread);
  for (const Buffer& buffer : work.shared) body = make_alloc(buffer, body);
  return make_for(work.item, arith::Analyzer().simplify(work.count), body, ForKind::kWorkgroup);
}

namespace {

constexpr int64_t kStepsAtOnce = 4;

// An identity of `op`, given the initial value of a reduction; null if that value would be counted
// once a lane.
PrimExpr neutral_of(ExprKind op, const PrimExpr& init) {
  switch (op) {
    case ExprKind::kMax:
    case ExprKind::kMin:
    case ExprKind::kAnd:
    case ExprKind::kOr:
      return init;  // idempotent: it may be applied any number of times
    case ExprKind::kAdd:
      return init.is_int(0) || (init.kind() == ExprKind::kFloat && init->float_value == 0)
                 ? init
                 : PrimExpr();
    case ExprKind::kMul:
      return init.is_int(1) || (init.kind() == ExprKind::kFloat && init->float_value == 1)
                 ? init
                 : PrimExpr();
    default:
      return {};
  }
}

}  // namespace

std::optional<Combination> find_combination(const Stage& stage) {
  if (!stage.simple || !stage.reduces() || !is_binary(stage.value.kind())) return std::nullopt;
  const PrimExpr &a = stage.value.operand(0), &b = stage.value.operand(1);
  if (is_load_of(a, stage.out) == is_load_of(b, stage.out)) return std::nullopt;
  Combination result;
  result.op = stage.value.kind();
  result.term = is_load_of(a, stage.out) ? b : a;
  result.neutral = neutral_of(result.op, stage.init_value);
  if (!result.neutral || reads(result.term, stage.out)) return std::nullopt;
  return result;
}

PrimExpr reduction_steps(const Stage& stage) { return product(stage.reduction); }

void decode_reduction(const Stage& stage, const PrimExpr& step, VarMap& at) {
  std::vector<BlockIter> iters = stage.reduction;
  for (BlockIter& iter : iters) iter.extent = tapml::substitute(iter.extent, at);
  at.merge(decode(iters, step));
}

PrimExpr value_at(const PrimExpr& expr, const Stage& stage, const VarMap& at, const PrimExpr& own) {
  PrimExpr value = tapml::substitute(expr, at);
  if (!own) return value;
  return rewrite_expr(
      value, [&](const PrimExpr& e) { return is_load_of(e, stage.out) ? own : PrimExpr(); });
}

Stmt store_final(const Stage& stage, const VarMap& at, const PrimExpr& own) {
  std::vector<PrimExpr> indices;
  for (const PrimExpr& index : stage.final_indices) {
    indices.push_back(value_at(index, stage, at, {}));
  }
  return make_store(stage.final_out, std::move(indices),
                    value_at(stage.final_value, stage, at, own));
}

PrimExpr LaneReduction::team(const Group& group) const {
  return neighbours ? floordiv(group.thread, lanes) : floormod(group.thread, teams(group));
}

PrimExpr LaneReduction::lane(const Group& group) const {
  if (teams(group) == 1) return group.thread;
  return neighbours ? floormod(group.thread, lanes) : floordiv(group.thread, teams(group));
}

bool LaneReduction::uses_subgroups(const Stage& stage, const Group& group) const {
  return group.subgroup > 1 && lanes > 1 && neighbours && has_subgroup_ops(stage.out->dtype);
}

Buffer LaneReduction::make_partials(const Stage& stage, const Group& group) const {
  int64_t parts = group.threads;
  if (uses_subgroups(stage, group)) parts /= group.subgroup;
  if (lanes == 1 || (parts < group.threads && lanes <= group.subgroup)) return nullptr;
  return make_buffer(stage.out->name + "_partials", stage.out->dtype, {points, parts},
                     Scope::kShared);
}

Stmt LaneReduction::each_point(const std::function<Stmt(int64_t point)>& body) const {
  std::vector<Stmt> stmts;
  for (int64_t point = 0; point < points; ++point) stmts.push_back(body(point));
  return make_seq(std::move(stmts));
}

Stmt LaneReduction::emit(const Stage& given, const Combination& combination, const Group& group,
                         const Buffer& partials) const {
  // The same reduction without steps that contribute nothing, which changes its term.
  const Stage stage = without_idle_steps(given);
  const PrimExpr term = find_combination(stage).value_or(combination).term;
  const PrimExpr own_lane = lane(group);
  Buffer sums = make_buffer(stage.out->name + "_acc", stage.out->dtype, {points}, Scope::kLocal);
  Stmt clear = each_point([&](int64_t point) {
    return make_store(sums, {point}, value_at(combination.neutral, stage, at(point), {}));
  });
  VarMap first = at(0);
  const PrimExpr steps = tapml::substitute(reduction_steps(stage), first);
  auto add = [&](const PrimExpr& step) {
    return each_point([&](int64_t point) {
      VarMap values = at(point);
      decode_reduction(stage, step, values);
      return make_store(sums, {point},
                        combination(load(sums, {point}), value_at(term, stage, values, {})));
    });
  };
  // Several steps of each lane at once, then the remainder one by one.
  const PrimExpr pieces = floordiv(steps, lanes * kStepsAtOnce);
  Var piece = make_var("piece"), turn = make_var("turn"), round = make_var("round");
  Stmt several = make_for(turn, kStepsAtOnce, add((piece * kStepsAtOnce + turn) * lanes + own_lane),
                          ForKind::kUnrolled);
  several = make_for(piece, pieces, several);
  const PrimExpr step = (pieces * kStepsAtOnce + round) * lanes + own_lane;
  Stmt one = add(step);
  if (!steps.is_int() || steps->int_value % lanes != 0) one = make_if(lt(step, steps), one);
  Stmt loop =
      make_seq({several, make_for(round, ceil_div(steps, lanes) - pieces * kStepsAtOnce, one)});
  if (lanes == 1) {
    Stmt store = store_final(stage, at(0), load(sums, {0}));
    if (stores) store = make_if(stores(0), store);
    return make_alloc(sums, make_seq({clear, loop, store}));
  }
  if (uses_subgroups(stage, group)) {
    Stmt join = join_by_subgroups(stage, combination, group, sums, partials);
    return make_alloc(sums, make_seq({clear, loop, join}));
  }
  Stmt publish = each_point([&](int64_t point) {
    return make_store(partials, {point, group.thread}, load(sums, {point}));
  });
  return make_seq({make_alloc(sums, make_seq({clear, loop, publish})),
                   join_by_tree(stage, combination, group, partials)});
}

Stmt LaneReduction::join_by_tree(const Stage& stage, const Combination& combination,
                                 const Group& group, const Buffer& partials) const {
  const PrimExpr own_lane = lane(group);
  const int64_t apart = neighbours ? 1 : teams(group);
  std::vector<Stmt> stmts;
  for (int64_t half = lanes / 2; half > 0; half /= 2) {
    stmts.push_back(make_barrier());
    Stmt join = each_point([&](int64_t point) {
      return make_store(partials, {point, group.thread},
                        combination(load(partials, {point, group.thread}),
                                    load(partials, {point, group.thread + half * apart})));
    });
    stmts.push_back(make_if(lt(own_lane, half), join));
  }
  if (points > 1) stmts.push_back(make_barrier());
  // The first lanes of a team store one point each.
  const PrimExpr point = points > 1 ? own_lane : PrimExpr(0);
  const PrimExpr first_lane = teams(group) > 1 ? group.thread - own_lane * apart : PrimExpr(0);
  PrimExpr is_mine = lt(own_lane, points);
  if (stores) is_mine = logical_and(is_mine, stores(point));
  stmts.push_back(
      make_if(is_mine, store_final(stage, at(point), load(partials, {point, first_lane}))));
  return make_seq(std::move(stmts));
}

Stmt LaneReduction::join_by_subgroups(const Stage& stage, const Combination& combination,
                                      const Group& group, const Buffer& sums,
                                      const Buffer& partials) const {
  const int64_t width = group.subgroup;
  std::vector<Stmt> stmts;
  const auto whole = lanes >= width ? subgroup_reduction(combination.op) : std::nullopt;
  if (whole) {
    stmts.push_back(each_point([&](int64_t point) {
      return make_store(sums, {point}, subgroup_call({*whole, load(sums, {point}), 0, width}));
    }));
  } else {
    // Butterfly exchange over ever shorter distances: all lanes get the same bits.
    Buffer across =
        make_buffer(stage.out->name + "_across", stage.out->dtype, {points}, Scope::kLocal);
    std::vector<Stmt> steps;
    for (int64_t mask = std::min(lanes, width) / 2; mask > 0; mask /= 2) {
      steps.push_back(each_point([&](int64_t point) {
        const PrimExpr own = load(sums, {point});
        return make_seq({make_store(across, {point},
                                    subgroup_call({SubgroupOp::kShuffleXor, own, mask, width})),
                         make_store(sums, {point}, combination(own, load(across, {point})))});
      }));
    }
    stmts.push_back(make_alloc(across, make_seq(std::move(steps))));
  }
  const PrimExpr own_lane = lane(group);
  const int64_t parts = lanes / width;  // of a team; 0 or 1: its lanes have the results
  if (parts > 1) {
    Stmt publish = each_point([&](int64_t point) {
      return make_store(partials, {point, floordiv(group.thread, width)}, load(sums, {point}));
    });
    stmts.push_back(make_if(eq(floormod(group.thread, width), 0), publish));
    stmts.push_back(make_barrier());
  }
  // The first lanes of a team store one point each.
  stmts.push_back(each_point([&](int64_t point) {
    std::vector<Stmt> last;
    if (parts > 1) {
      Var part = make_var("part");
      const PrimExpr first = team(group) * parts;
      last.push_back(make_store(sums, {point}, load(partials, {point, first})));
      last.push_back(make_for(
          part, parts - 1,
          make_store(sums, {point},
                     combination(load(sums, {point}), load(partials, {point, first + part + 1})))));
    }
    last.push_back(store_final(stage, at(point), load(sums, {point})));
    PrimExpr is_mine = eq(own_lane, point);
    if (stores) is_mine = logical_and(is_mine, stores(point));
    return make_if(is_mine, make_seq(std::move(last)));
  }));
  return make_seq(std::move(stmts));
}

}  // namespace tapml::schedule
