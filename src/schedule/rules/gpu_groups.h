// Work groups: how their threads share out loops, and how their partial results meet in local
// memory. Private to schedule/.
//
// A launch is a loop over groups around one loop over all threads of a group. Loops inside make the
// same steps for every thread, and what lies past an end is guarded at the innermost statement:
// barriers then stand in uniform control flow, and compilers that run the threads of a group as
// vector lanes can do so. Neighbouring threads take neighbouring elements.
#pragma once

#include <functional>
#include <optional>

#include "schedule/emit.h"
#include "target/target.h"

namespace tapml::schedule {

struct Group {
  explicit Group(const target::Description& description);

  int64_t threads = 1;      // a power of two
  int64_t subgroup = 1;     // threads of a subgroup, a power of two that divides them; 1: none
  int64_t local_bytes = 0;  // of local memory
  Var thread = make_var("thread");

  // The same, its groups being one subgroup each.
  Group of_one_subgroup() const;

  // for index in [0, extent), each index by one thread.
  tir::Stmt share_out(const PrimExpr& extent,
                      const std::function<tir::Stmt(const PrimExpr& index)>& body) const;
};

// What every thread of a group does, for groups `item` in [0, count).
struct GroupWork {
  Var item;
  PrimExpr count;
  std::vector<tir::Buffer> shared;  // local memory
  tir::Stmt body;

  int64_t local_bytes() const;
};
// The loop over groups around the work.
tir::Stmt launch_groups(const Group& group, const GroupWork& work);

// The largest power of two that is not above `value` (of 1 or more).
int64_t power_of_two_below(int64_t value);

// A reduction as out = op(out, term), with a value that op leaves as it is.
struct Combination {
  ExprKind op = ExprKind::kAdd;
  PrimExpr term, neutral;

  PrimExpr operator()(const PrimExpr& a, const PrimExpr& b) const { return make_binary(op, a, b); }
};
std::optional<Combination> find_combination(const Stage& stage);

// Number of steps of a stage's reduction, in terms of its spatial iterators.
PrimExpr reduction_steps(const Stage& stage);
// Values of the reduction's iterators at flat step `step`; `at` has the spatial ones.
void decode_reduction(const Stage& stage, const PrimExpr& step, VarMap& at);

// `expr` at `at`, the stage's own element being `own` (null: it has none).
PrimExpr value_at(const PrimExpr& expr, const Stage& stage, const VarMap& at, const PrimExpr& own);
// What the stage stores in the end at `at`, its reduction's result being `own`.
tir::Stmt store_final(const Stage& stage, const VarMap& at, const PrimExpr& own);

// Points of a reduction by teams of `lanes` threads: each lane takes every lanes-th of the steps
// for all `points` of its team, then the lanes' results meet: by operations of their subgroups
// where these are there for the dtype and lanes are neighbours, and what several subgroups of a
// team have then in `partials`; else by a tree in `partials`.
struct LaneReduction {
  int64_t lanes = 1;   // a power of two, at most the group's threads
  int64_t points = 1;  // of a team at once, at most `lanes`
  // Lanes of a team are neighbours, or the first lanes of all teams are, then all second ones, ...
  bool neighbours = true;
  // Spatial iterators at a point in [0, points) of the thread's team: good to read, also where
  // `stores` says that the result is not wanted (null: it always is).
  std::function<VarMap(const PrimExpr& point)> at;
  std::function<PrimExpr(const PrimExpr& point)> stores;

  int64_t teams(const Group& group) const { return group.threads / lanes; }
  PrimExpr team(const Group& group) const;
  // Local memory for them; null where they meet without.
  tir::Buffer make_partials(const Stage& stage, const Group& group) const;
  // Ends with the results stored; a barrier must follow where they are read.
  tir::Stmt emit(const Stage& stage, const Combination& combination, const Group& group,
                 const tir::Buffer& partials) const;

 private:
  bool uses_subgroups(const Stage& stage, const Group& group) const;
  PrimExpr lane(const Group& group) const;
  tir::Stmt each_point(const std::function<tir::Stmt(int64_t point)>& body) const;
  // The lanes' results are in `partials`, or in `sums`, one a point; both end with what they make
  // stored.
  tir::Stmt join_by_tree(const Stage& stage, const Combination& combination, const Group& group,
                         const tir::Buffer& partials) const;
  tir::Stmt join_by_subgroups(const Stage& stage, const Combination& combination,
                              const Group& group, const tir::Buffer& sums,
                              const tir::Buffer& partials) const;
};

}  // namespace tapml::schedule
