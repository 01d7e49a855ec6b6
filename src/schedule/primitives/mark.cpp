#include "schedule/primitives/mark.h"

#include "ir/queries.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

Site serial_loop(const PrimFunc& func, const Var& loop, const std::string& primitive) {
  Site site = find_loop(func, loop);
  if (site.loop().for_kind != ForKind::kSerial) {
    refuse(primitive, "loop " + loop->name,
           std::string("it is ") + for_kind_name(site.loop().for_kind) + " already",
           "mark a loop once");
  }
  return site;
}

std::vector<Stmt> loops_inside(const Site& loop) {
  std::vector<Stmt> result;
  std::function<void(const Stmt&)> walk = [&](const Stmt& s) {
    if (!s) return;
    switch (s->kind) {
      case StmtKind::kFor:
        result.push_back(s);
        return walk(as<ForNode>(s).body);
      case StmtKind::kSeq:
        for (const Stmt& part : as<SeqNode>(s).stmts) walk(part);
        return;
      case StmtKind::kIf:
        walk(as<IfNode>(s).then_body);
        return walk(as<IfNode>(s).else_body);
      case StmtKind::kAlloc:
        return walk(as<AllocNode>(s).body);
      default:
        return;
    }
  };
  walk(loop.loop().body);
  return result;
}

void require_only_launch_axis(const Site& site, const std::string& primitive) {
  auto check = [&](const Stmt& stmt, const char* where) {
    const auto& other = as<ForNode>(stmt);
    if (other.for_kind != ForKind::kParallel && other.for_kind != ForKind::kWorkgroup) return;
    refuse(primitive, "loop " + site.loop().var->name,
           std::string("the ") + for_kind_name(other.for_kind) + " loop " + other.var->name +
               " is " + where,
           "fuse the loops first");
  };
  for (const Stmt& stmt : site.loops()) {
    if (stmt != site.stmt()) check(stmt, "around it");
  }
  for (const Stmt& stmt : loops_inside(site)) check(stmt, "inside it");
}

std::string why_no_grid_dimension(const Site& site) {
  const std::vector<Stmt> loops = site.loops();
  if (loops.size() > static_cast<size_t>(kGridDimensions)) return "the grid has three dimensions";
  for (size_t i = 0; i + 1 < loops.size(); ++i) {
    const auto& around = as<ForNode>(loops[i]);
    if (around.for_kind != ForKind::kWorkgroup) return "it is inside another loop";
    if (around.body != loops[i + 1]) {
      return "there is more than loops between it and its work-group loop";
    }
  }
  return "";
}

void require_independent(const PrimFunc& func, const Site& site, const std::string& primitive) {
  std::string why = why_dependent(func, site);
  if (why.empty()) return;
  refuse(primitive, "loop " + site.loop().var->name, why,
         "take a loop whose iterations write distinct elements");
}

std::string why_not_lanes(const PrimFunc& func, const Site& site) {
  if (!loops_inside(site).empty()) return "it contains another loop";
  std::vector<Site> below = leaves(func, site.stmt());
  if (below.size() != 1) return "it contains more than one block";
  std::string why = why_dependent(func, site);
  if (why.empty() || !below[0].is_block()) return why;
  const BlockNode& block = below[0].block();
  if (!find_reducer(block)) return why;
  for (const BlockIter& iter : block.iters) {
    if (iter.type == IterType::kReduce) continue;
    if (uses(iter.binding, site.loop().var)) return why;
  }
  return block.init ? why + ", and it sets the initial value inside the loop" : "";
}

PrimFuncRef with_kind(const PrimFunc& func, const Site& site, ForKind kind) {
  const ForNode& loop = site.loop();
  return with_body(
      func, replace(func.body, site.stmt(), make_for(loop.var, loop.extent, loop.body, kind)));
}

}  // namespace tapml::schedule::primitives
