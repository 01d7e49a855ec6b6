#include "schedule/emit.h"

#include "arith/analyzer.h"
#include "schedule/guard.h"
#include "tir/queries.h"
#include "tir/visit.h"

namespace tapml::schedule {

using namespace tir;  // NOLINT: this file is about tir alone

VarMap decode(const std::vector<BlockIter>& iters, const PrimExpr& item) {
  VarMap values;
  PrimExpr rest = item;
  for (size_t i = iters.size(); i-- > 0;) {
    values[iters[i].var.get()] = i == 0 ? rest : floormod(rest, iters[i].extent);
    rest = floordiv(rest, iters[i].extent);
  }
  return values;
}

PrimExpr product(const std::vector<BlockIter>& iters) {
  PrimExpr size = 1;
  for (const BlockIter& iter : iters) size = size * iter.extent;
  return arith::Analyzer().simplify(size);
}

namespace {

Var fresh(const Var& var) { return make_var(var->name, var.dtype()); }

// Wraps `body` in the stage's reduction loops, after adding their variables to `at`.
struct ReductionLoops {
  std::vector<Var> vars;
  std::vector<PrimExpr> extents;

  ReductionLoops(const Stage& stage, VarMap& at) {
    for (const BlockIter& iter : stage.reduction) {
      vars.push_back(fresh(iter.var));
      extents.push_back(tapml::substitute(iter.extent, at));
      at[iter.var.get()] = vars.back();
    }
  }

  Stmt wrap(Stmt body, bool vectorize) const {
    for (size_t i = vars.size(); i-- > 0;) {
      bool inner = i + 1 == vars.size();
      body = make_for(vars[i], extents[i], std::move(body),
                      inner && vectorize ? ForKind::kVectorized : ForKind::kSerial);
    }
    return body;
  }
};

// `expr` with loads of the stage's output element replaced by loads of the accumulator at `cell`.
PrimExpr read_accumulator(const PrimExpr& expr, const Stage& stage, const Buffer& accumulator,
                          const PrimExpr& cell) {
  return rewrite_expr(expr, [&](const PrimExpr& e) {
    return is_load_of(e, stage.out) ? load(accumulator, {cell}) : PrimExpr();
  });
}

std::vector<PrimExpr> substitute_all(const std::vector<PrimExpr>& exprs, const VarMap& values) {
  std::vector<PrimExpr> result;
  for (const PrimExpr& e : exprs) result.push_back(tapml::substitute(e, values));
  return result;
}

// General bodies (not a single store) are emitted unchanged, after their initialization.
Stmt emit_general(const Stage& stage, VarMap at) {
  Stmt init = stage.init ? refresh_vars(tir::substitute(stage.init, at)) : nullptr;
  ReductionLoops loops(stage, at);
  Stmt body = loops.wrap(refresh_vars(tir::substitute(stage.body, at)), false);
  return init ? make_seq({init, body}) : body;
}

// Whether the steps of the reduction depend on `var`.
bool steps_depend_on(const Stage& stage, const Var& var) {
  return std::ranges::any_of(stage.reduction,
                             [&](const BlockIter& step) { return uses(step.extent, var); });
}

}  // namespace

Stmt emit_columns(const Stage& stage, VarMap at, const PrimExpr& first, const PrimExpr& count,
                  int64_t most) {
  const BlockIter& lane = stage.spatial.back();
  Buffer accumulator =
      make_buffer(stage.out->name + "_acc", stage.out->dtype, {most}, Scope::kLocal);
  auto lanes = [&](const std::function<Stmt(const Var&, VarMap)>& body) {
    Var var = fresh(lane.var);
    VarMap inner = at;
    inner[lane.var.get()] = first.is_int(0) ? PrimExpr(var) : first + var;
    return make_for(var, count, body(var, inner), ForKind::kVectorized);
  };
  Stmt init = lanes([&](const Var& var, const VarMap& inner) {
    return make_store(accumulator, {var}, tapml::substitute(stage.init_value, inner));
  });
  ReductionLoops loops(stage, at);
  Stmt update = lanes([&](const Var& var, const VarMap& inner) {
    PrimExpr value = tapml::substitute(stage.value, inner);
    return make_store(accumulator, {var}, read_accumulator(value, stage, accumulator, var));
  });
  Stmt write = lanes([&](const Var& var, const VarMap& inner) {
    PrimExpr value = tapml::substitute(stage.final_value, inner);
    return make_store(stage.final_out, substitute_all(stage.final_indices, inner),
                      read_accumulator(value, stage, accumulator, var));
  });
  return make_alloc(accumulator, make_seq({init, loops.wrap(update, false), write}));
}

bool runs_along_lane(const Stage& stage) {
  if (!stage.simple || !stage.reduces() || stage.spatial.empty()) return false;
  const BlockIter& lane = stage.spatial.back();
  if (!lane.extent.is_int() || lane.extent->int_value > 512 || lane.extent->int_value < 4) {
    return false;
  }
  bool along = false, across = false;
  const Var& step = stage.reduction.back().var;
  visit_expr(stage.value, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kLoad || load_buffer(e) == stage.out || e->operands.empty()) return;
    const PrimExpr& last = e->operands.back();
    along |= last.same_as(lane.var);
    // A load whose last index varies with the reduction but not across lanes is fine.
    if (last.same_as(step) && uses(e->operands, lane.var)) across = true;
  });
  return along && !across;
}

Stmt emit_point(const Stage& given, const VarMap& at_point, const PointOptions& options) {
  VarMap at = at_point;
  const Stage stage = options.skip_idle ? without_idle_steps(given) : given;
  if (!stage.simple) return emit_general(stage, at);
  if (!stage.reduces()) {
    return make_store(stage.final_out, substitute_all(stage.final_indices, at),
                      tapml::substitute(stage.final_value, at));
  }
  Buffer accumulator = make_buffer(stage.out->name + "_acc", stage.out->dtype, {1}, Scope::kLocal);
  Stmt init = make_store(accumulator, {0}, tapml::substitute(stage.init_value, at));
  PrimExpr final_value =
      read_accumulator(tapml::substitute(stage.final_value, at), stage, accumulator, 0);
  std::vector<PrimExpr> final_indices = substitute_all(stage.final_indices, at);
  ReductionLoops loops(stage, at);
  PrimExpr value = read_accumulator(tapml::substitute(stage.value, at), stage, accumulator, 0);
  Stmt update = make_store(accumulator, {0}, value);
  return make_alloc(accumulator,
                    make_seq({init, loops.wrap(update, options.vectorize),
                              make_store(stage.final_out, final_indices, final_value)}));
}

Stmt emit_nest(const Stage& given, size_t first, VarMap at, bool vectorize) {
  const bool along = vectorize && first < given.spatial.size() && runs_along_lane(given);
  Stage stage = without_idle_steps(given);
  if (along && steps_depend_on(stage, stage.spatial.back().var)) stage = given;
  std::vector<Var> vars;
  std::vector<PrimExpr> extents;
  auto enclose = [&](Stmt body) {
    for (size_t i = vars.size(); i-- > 0;) body = make_for(vars[i], extents[i], body);
    return body;
  };
  for (size_t i = first; i + 1 < stage.spatial.size(); ++i) {
    vars.push_back(fresh(stage.spatial[i].var));
    extents.push_back(tapml::substitute(stage.spatial[i].extent, at));
    at[stage.spatial[i].var.get()] = vars.back();
  }
  if (along) {
    const PrimExpr& columns = stage.spatial.back().extent;
    return enclose(emit_columns(stage, at, 0, columns, columns->int_value));
  }
  const PointOptions options = {.vectorize = vectorize, .skip_idle = true};
  if (first >= stage.spatial.size()) return emit_point(stage, at, options);
  const BlockIter& last = stage.spatial.back();
  // Emits the points from begin to begin + the extent of the last iterator.
  auto points = [&](const Stage& part, const PrimExpr& begin, const PrimExpr& extent) {
    Var var = fresh(last.var);
    VarMap inner = at;
    inner[last.var.get()] = begin ? begin + var : PrimExpr(var);
    bool lanes = vectorize && part.simple && !part.reduces();
    return make_for(var, extent, emit_point(part, inner, options),
                    lanes ? ForKind::kVectorized : ForKind::kSerial);
  };
  PrimExpr extent = tapml::substitute(last.extent, at);
  if (std::optional<Split> split = split_last_iterator(stage)) {
    PrimExpr limit = tapml::substitute(split->limit, at);
    return enclose(
        make_seq({points(split->below, {}, limit), points(split->rest, limit, extent - limit)}));
  }
  return enclose(points(stage, {}, extent));
}

PrimFuncRef finish(const PrimFunc& func, const StagedProgram& program, Stmt body,
                   int64_t workgroup_threads) {
  for (size_t i = program.intermediates.size(); i-- > 0;) {
    body = make_alloc(program.intermediates[i], body);
  }
  auto result = std::make_shared<PrimFunc>(func);
  result->body = std::move(body);
  if (workgroup_threads > 1) result->facts.workgroup_threads = workgroup_threads;
  return result;
}

}  // namespace tapml::schedule
