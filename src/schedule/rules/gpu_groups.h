// Work groups: how threads divide loops and combine partial results in local memory. Private to
// schedule/.
//
// A launch is a loop over groups around one loop over all threads of a group. Inner loops run the
// same number of steps on every thread, and the innermost statement is guarded against the end. So
// barriers are in uniform control flow, and compilers that map threads of a group to vector lanes
// can do so. Adjacent threads take adjacent elements.
#pragma once

#include <functional>
#include <optional>

#include "schedule/emit.h"
#include "target/target.h"

namespace tapml::schedule {

struct Group {
  explicit Group(const target::Description& description);

  int64_t threads = 1;      // a power of two
  int64_t subgroup = 1;     // threads of a subgroup, a power of two that divides `threads`; 1: none
  int64_t local_bytes = 0;  // available local memory
  Var thread = make_var("thread");

  // The same configuration with groups of a single subgroup.
  Group of_one_subgroup() const;

  // for index in [0, extent), with each index handled by one thread.
  tir::Stmt share_out(const PrimExpr& extent,
                      const std::function<tir::Stmt(const PrimExpr& index)>& body) const;
};

// The work of every thread of a group, for groups `item` in [0, count).
struct GroupWork {
  Var item;
  PrimExpr count;
  std::vector<tir::Buffer> shared;  // local memory
  tir::Stmt body;

  int64_t local_bytes() const;
};
// Wraps the work in the loop over groups.
tir::Stmt launch_groups(const Group& group, const GroupWork& work);

// The largest power of two that is at most `value` (of 1 or more).
int64_t power_of_two_below(int64_t value);

// A reduction as out = op(out, term), with an identity of op.
struct Combination {
  ExprKind op = ExprKind::kAdd;
  PrimExpr term, neutral;

  PrimExpr operator()(const PrimExpr& a, const PrimExpr& b) const { return make_binary(op, a, b); }
};
std::optional<Combination> find_combination(const Stage& stage);

// Number of steps of a stage's reduction, in terms of its spatial iterators.
PrimExpr reduction_steps(const Stage& stage);
// Sets the reduction's iterators to flat step `step`; `at` has the spatial ones.
void decode_reduction(const Stage& stage, const PrimExpr& step, VarMap& at);

// `expr` at `at`, with the stage's own element replaced by `own` (null: it has none).
PrimExpr value_at(const PrimExpr& expr, const Stage& stage, const VarMap& at, const PrimExpr& own);
// Stores the stage's final value at `at`, given its reduction's result `own`.
tir::Stmt store_final(const Stage& stage, const VarMap& at, const PrimExpr& own);

// Reduces points by teams of `lanes` threads: each lane takes every lanes-th step for all `points`
// of its team, then the lanes' results are combined. This uses subgroup operations if the dtype has
// them and lanes are adjacent, with `partials` across the subgroups of a team; otherwise a tree in
// `partials`.
struct LaneReduction {
  int64_t lanes = 1;   // a power of two, at most the group's threads
  int64_t points = 1;  // that a team reduces at once, at most `lanes`
  // The lanes of a team are adjacent; otherwise the first lanes of all teams are, then the second
  // ones, ...
  bool neighbours = true;
  // Spatial iterators at a point in [0, points) of the thread's team. Reading is valid even if
  // `stores` says that the result is not needed (null: it always is).
  std::function<VarMap(const PrimExpr& point)> at;
  std::function<PrimExpr(const PrimExpr& point)> stores;

  int64_t teams(const Group& group) const { return group.threads / lanes; }
  PrimExpr team(const Group& group) const;
  // Local memory for the partial results; null if none is needed.
  tir::Buffer make_partials(const Stage& stage, const Group& group) const;
  // Ends with storing the results; readers need a barrier first.
  tir::Stmt emit(const Stage& stage, const Combination& combination, const Group& group,
                 const tir::Buffer& partials) const;

 private:
  bool uses_subgroups(const Stage& stage, const Group& group) const;
  PrimExpr lane(const Group& group) const;
  tir::Stmt each_point(const std::function<tir::Stmt(int64_t point)>& body) const;
  // The lanes' results are in `partials`, or in `sums`, one a point; both functions end by storing
  // the combined result.
  tir::Stmt join_by_tree(const Stage& stage, const Combination& combination, const Group& group,
                         const tir::Buffer& partials) const;
  tir::Stmt join_by_subgroups(const Stage& stage, const Combination& combination,
                              const Group& group, const tir::Buffer& sums,
                              const tir::Buffer& partials) const;
};

}  // namespace tapml::schedule
