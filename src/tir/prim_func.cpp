#include "tir/prim_func.h"

#include <set>

#include "tir/visit.h"

namespace tapml::tir {

PrimFuncRef make_prim_func(std::vector<Param> params, Stmt body, AttrMap attrs) {
  auto func = std::make_shared<PrimFunc>();
  func->params = std::move(params);
  func->body = std::move(body);
  func->set_attrs(std::move(attrs));
  for (const Param& param : func->params) {
    for (const PrimExpr& dim : param.buffer->shape) collect_vars(dim, func->scalars);
  }
  std::set<const ExprNode*> bound;
  std::vector<Var> used;
  visit(
      func->body,
      [&](const Stmt& s) {
        if (s->kind == StmtKind::kFor) bound.insert(as<ForNode>(s).var.get());
        if (s->kind == StmtKind::kBlock) {
          for (const BlockIter& iter : as<BlockNode>(s).iters) bound.insert(iter.var.get());
        }
      },
      [&](const PrimExpr& e) { collect_vars(e, used); });
  std::set<const ExprNode*> known;
  for (const Var& var : func->scalars) known.insert(var.get());
  for (const Var& var : used) {
    if (!bound.contains(var.get()) && known.insert(var.get()).second) func->scalars.push_back(var);
  }
  return func;
}

const PrimFunc* as_prim_func(const BaseFunction* function) {
  return function && function->level == FunctionLevel::kTir ? static_cast<const PrimFunc*>(function)
                                                            : nullptr;
}

}  // namespace tapml::tir
