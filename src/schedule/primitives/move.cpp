#include "schedule/primitives/move.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

bool is_alone(const PrimFunc& func, const Site& block) {
  return leaves(func, nest_of(block)).size() == 1;
}

Stmt in_new_loops(const BlockNode& old, const std::map<const tapml::ExprNode*, NewRange>& ranges,
                  arith::Analyzer analyzer) {
  auto block = std::make_shared<BlockNode>(old);
  block->predicate = PrimExpr();
  std::vector<Var> vars;
  std::vector<PrimExpr> extents;
  for (BlockIter& iter : block->iters) {
    auto range = ranges.find(iter.var.get());
    bool whole = range == ranges.end();
    std::string name = iter.var->name;
    if (name.size() > 1 && name[0] == 'v') name = name.substr(1);
    Var var = make_var(name, iter.var.dtype());
    PrimExpr extent = whole ? iter.extent : range->second.extent;
    vars.push_back(var);
    extents.push_back(extent);
    analyzer.assume(lt(make_int(0, extent.dtype()), extent));
    analyzer.bind_range(var, extent);
    iter.binding = whole ? PrimExpr(var) : analyzer.simplify(range->second.begin + var);
    if (whole) continue;
    auto guard = [&](const PrimExpr& condition) {
      if (analyzer.prove(condition)) return;
      block->predicate = block->predicate ? logical_and(block->predicate, condition) : condition;
    };
    guard(le(make_int(0, iter.binding.dtype()), iter.binding));
    guard(lt(iter.binding, iter.extent));
  }
  Stmt stmt = block;
  for (size_t i = vars.size(); i-- > 0;) stmt = make_for(vars[i], extents[i], stmt);
  return stmt;
}

}  // namespace tapml::schedule::primitives
