// reorder: see primitives.h.
#include <algorithm>

#include "base/strings.h"
#include "ir/queries.h"
#include "schedule/primitives/dependence.h"
#include "schedule/primitives/primitives.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

// Whether both loops belong to one reduction that may be reordered, alone in the nest.
bool is_free_reduction(const PrimFunc& func, const Site& outer, const Var& a, const Var& b) {
  std::vector<Site> below = leaves(func, outer.stmt());
  if (below.size() != 1 || !below[0].is_block() || !find_reducer(below[0].block())) return false;
  for (const Var& var : {a, b}) {
    for (const BlockIter& iter : below[0].block().iters) {
      if (iter.type == IterType::kReduce) continue;
      if (uses(iter.binding, var)) return false;
    }
  }
  return true;
}

}  // namespace

PrimFuncRef reorder(const PrimFunc& func, const std::vector<Var>& order) {
  const std::string names = join(order, [](const Var& var) { return var->name; });
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("reorder", "loops " + names, reason, hint);
  };
  if (order.size() < 2) no("it needs two loops or more", "name the loops from outside in");
  auto position = [&](const Var& var) {
    return std::find_if(order.begin(), order.end(),
                        [&](const Var& other) { return other.same_as(var); }) -
           order.begin();
  };
  for (size_t i = 0; i < order.size(); ++i) {
    if (position(order[i]) != static_cast<std::ptrdiff_t>(i)) {
      no("loop " + order[i]->name + " is named twice", "name each loop once");
    }
  }
  // The nest from the outermost named loop to the innermost.
  Site deepest = find_loop(func, order[0]);
  for (const Var& var : order) {
    Site site = find_loop(func, var);
    if (site.path.size() > deepest.path.size()) deepest = site;
  }
  std::vector<Stmt> nest;
  size_t found = 0;
  for (const Stmt& stmt : deepest.path) {
    bool named = stmt->kind == StmtKind::kFor &&
                 position(as<ForNode>(stmt).var) < static_cast<std::ptrdiff_t>(order.size());
    found += named ? 1 : 0;
    if (found == 0) continue;
    if (stmt->kind != StmtKind::kFor) {
      no("there is more than loops between them", "name loops of one perfect nest");
    }
    nest.push_back(stmt);
  }
  if (found != order.size()) no("they are not loops of one nest", "name loops around one another");
  // The new order: named loops permute among their own positions.
  std::vector<Stmt> next = nest;
  size_t taken = 0;
  for (Stmt& slot : next) {
    if (position(as<ForNode>(slot).var) == static_cast<std::ptrdiff_t>(order.size())) continue;
    const Var& var = order[taken++];
    slot = *std::find_if(nest.begin(), nest.end(),
                         [&](const Stmt& s) { return as<ForNode>(s).var.same_as(var); });
  }
  auto old_place = [&](const Stmt& s) { return std::find(nest.begin(), nest.end(), s); };
  Site outer = find_loop(func, as<ForNode>(nest[0]).var);
  for (size_t i = 0; i < next.size(); ++i) {
    const auto& first = as<ForNode>(next[i]);
    for (size_t j = i + 1; j < next.size(); ++j) {
      const auto& second = as<ForNode>(next[j]);
      if (uses(first.extent, second.var)) {
        no("the extent of " + first.var->name + " uses " + second.var->name,
           "keep " + second.var->name + " outside");
      }
      if (old_place(next[i]) < old_place(next[j])) continue;
      // These two loops are swapped.
      std::string why = why_dependent(func, find_loop(func, first.var));
      if (why.empty() || why_dependent(func, find_loop(func, second.var)).empty()) continue;
      if (is_free_reduction(func, outer, first.var, second.var)) continue;
      no("iterations of " + first.var->name + " and of " + second.var->name + " depend: " + why,
         "keep their order");
    }
  }
  Stmt body = as<ForNode>(nest.back()).body;
  for (size_t i = next.size(); i-- > 0;) {
    const auto& loop = as<ForNode>(next[i]);
    body = make_for(loop.var, loop.extent, body, loop.for_kind);
  }
  return with_body(func, replace(func.body, nest[0], body));
}

}  // namespace tapml::schedule::primitives
