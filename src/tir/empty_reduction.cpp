#include "tir/empty_reduction.h"

#include "tir/visit.h"

namespace tapml::tir {

namespace {

bool is_reduction_of(const BlockNode& block, const Var& loop) {
  for (const BlockIter& iter : block.iters) {
    if (iter.type == IterType::kReduce && iter.binding.same_as(loop)) return true;
  }
  return false;
}

// The init of the block below `loop`, inside those inner loops that are not its reductions, for the
// first step of the outer loops.
Stmt init_without_steps(const ForNode& loop) {
  std::vector<const ForNode*> inside;
  const Stmt* at = &loop.body;
  for (; (*at)->kind == StmtKind::kFor; at = &as<ForNode>(*at).body) {
    inside.push_back(&as<ForNode>(*at));
  }
  if ((*at)->kind != StmtKind::kBlock) return nullptr;
  const auto& block = as<BlockNode>(*at);
  if (!block.init || !is_reduction_of(block, loop.var)) return nullptr;
  VarMap loops = {{loop.var.get(), make_int(0, loop.var.dtype())}};
  std::vector<const ForNode*> around;
  for (const ForNode* inner : inside) {
    if (is_reduction_of(block, inner->var)) {
      loops[inner->var.get()] = make_int(0, inner->var.dtype());
    } else {
      around.push_back(inner);
    }
  }
  VarMap iterators;
  PrimExpr first = make_bool(true);
  for (const BlockIter& iter : block.iters) {
    PrimExpr value = tapml::substitute(iter.binding, loops);
    iterators[iter.var.get()] = value;
    if (iter.type == IterType::kReduce) {
      first = logical_and(first, eq(value, make_int(0, value.dtype())));
    }
  }
  if (block.predicate) first = logical_and(tapml::substitute(block.predicate, loops), first);
  Stmt init = substitute(block.init, iterators);
  if (!first.is_int(1)) init = make_if(first, init);
  for (size_t i = around.size(); i-- > 0;) {
    init = make_for(around[i]->var, tapml::substitute(around[i]->extent, loops), init);
  }
  PrimExpr none = le(loop.extent, make_int(0, loop.extent.dtype()));
  return make_if(none, refresh_vars(init));
}

}  // namespace

Stmt initialize_empty_reductions(const Stmt& stmt) {
  return rewrite(stmt, {}, [](const Stmt& s) -> Stmt {
    if (s->kind != StmtKind::kFor) return nullptr;
    const auto& loop = as<ForNode>(s);
    if (loop.extent.is_int() && loop.extent->int_value > 0) return nullptr;
    Stmt init = init_without_steps(loop);
    return init ? make_seq({init, s}) : nullptr;
  });
}

}  // namespace tapml::tir
