// What holds after every primitive: see S1 to S3 in primitives.h.
#include <algorithm>

#include "analysis/verifier.h"
#include "ir/queries.h"
#include "schedule/primitives/mark.h"
#include "tir/visit.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

namespace {

std::vector<std::string> names_below(const PrimFunc& func, const Stmt& loop) {
  std::vector<std::string> names;
  for (const Site& leaf : leaves(func, loop)) names.push_back(leaf.describe());
  return names;
}

void for_each_loop(const PrimFunc& func, const std::function<void(const Site&)>& f) {
  std::vector<Var> loops;
  visit(func.body, [&](const Stmt& s) {
    if (s->kind == StmtKind::kFor) loops.push_back(as<ForNode>(s).var);
  });
  std::set<const tapml::ExprNode*> inside;
  for (const Site& leaf : leaves(func)) {
    if (!leaf.is_block()) continue;
    visit(leaf.stmt(), [&](const Stmt& s) {
      if (s->kind == StmtKind::kFor) inside.insert(as<ForNode>(s).var.get());
    });
  }
  for (const Var& var : loops) {
    if (!inside.contains(var.get())) f(find_loop(func, var));
  }
}

bool is_marked(ForKind kind) { return kind != ForKind::kSerial && kind != ForKind::kUnrolled; }

// S1
std::string why_lost_init(const PrimFunc& func, const Site& site) {
  const BlockNode& block = site.block();
  std::vector<Stmt> outer;
  for (size_t p = 0; p < site.path.size(); ++p) {
    if (site.path[p]->kind != StmtKind::kFor) continue;
    const auto& loop = as<ForNode>(site.path[p]);
    bool reduces = false, direct = false;
    for (const BlockIter& iter : block.iters) {
      if (iter.type != IterType::kReduce) continue;
      direct |= iter.binding.same_as(loop.var);
      reduces |= uses(iter.binding, loop.var);
    }
    arith::Analyzer analyzer = context(func, outer);
    outer.push_back(site.path[p]);
    if (!reduces || analyzer.prove_less(0, loop.extent)) continue;
    bool only_loops = true;
    for (size_t q = p; q + 1 < site.path.size(); ++q) {
      only_loops &= site.path[q]->kind == StmtKind::kFor;
    }
    if (!direct || !only_loops) {
      return "the reduction loop " + loop.var->name + " of extent " + to_string(loop.extent) +
             " may run zero iterations, and then the initial value of block " + block.name +
             " would be lost";
    }
  }
  return "";
}

// S2, S3
std::string why_not_marked(const PrimFunc& func, const Site& site) {
  const ForNode& loop = site.loop();
  std::string why =
      loop.for_kind == ForKind::kVectorized ? why_not_lanes(func, site) : why_dependent(func, site);
  if (why.empty() && loop.for_kind == ForKind::kWorkgroup) why = why_no_grid_dimension(site);
  if (why.empty() && loop.for_kind == ForKind::kThread) {
    bool grouped = false;
    for (const Stmt& stmt : site.path) {
      if (stmt->kind == StmtKind::kFor) {
        grouped |= as<ForNode>(stmt).for_kind == ForKind::kWorkgroup;
      } else if (grouped) {
        why = "there is more than loops between it and its work-group loop";
      }
    }
    if (!grouped) why = "there is no work-group loop around it";
  }
  return why;
}

}  // namespace

Trusted find_trusted(const PrimFunc& func) {
  Trusted trusted;
  for_each_loop(func, [&](const Site& site) {
    if (!is_marked(site.loop().for_kind) || why_not_marked(func, site).empty()) return;
    trusted.loops.emplace_back(site.loop().var, names_below(func, site.stmt()));
  });
  return trusted;
}

void check_invariants(const PrimFunc& func, const std::string& primitive,
                      const std::string& subject, const Trusted& trusted) {
  for (const Site& leaf : leaves(func)) {
    if (!leaf.is_block() || !leaf.block().init) continue;
    std::string why = why_lost_init(func, leaf);
    if (!why.empty()) {
      refuse(primitive, subject, why, "apply decompose_reduction to block " + leaf.block().name);
    }
  }
  for_each_loop(func, [&](const Site& site) {
    const ForNode& loop = site.loop();
    if (!is_marked(loop.for_kind)) return;
    for (const auto& [var, names] : trusted.loops) {
      if (var.same_as(loop.var) && names == names_below(func, site.stmt())) return;
    }
    std::string why = why_not_marked(func, site);
    if (why.empty()) return;
    refuse(primitive, subject,
           std::string("the ") + for_kind_name(loop.for_kind) + " loop " + loop.var->name +
               " would become invalid: " + why,
           "apply it before the loop is marked, or at a loop inside");
  });
  Module module;
  module.functions["program"] = std::make_shared<PrimFunc>(func);
  analysis::verify(module, primitive);
}

}  // namespace tapml::schedule::primitives
