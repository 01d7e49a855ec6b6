#include "relax/captures.h"

#include <set>

#include "relax/visit.h"

namespace tapml::relax {

void collect_symbols(const Function& function, std::vector<Var>& into) {
  for (const Variable& param : function.params) collect_vars(param->annotation, into);
  if (function.result) collect_vars(function.result, into);
  collect_symbols(function.body, into);
}

void collect_symbols(const Expr& expr, std::vector<Var>& into) {
  visit(expr, [&](const Expr& e) {
    if (const auto* shape = as<ShapeNode>(e)) {
      for (const PrimExpr& dim : shape->dims) tapml::collect_vars(dim, into);
    } else if (const auto* prim = as<PrimValueNode>(e)) {
      tapml::collect_vars(prim->value, into);
    } else if (const auto* call = as<CallNode>(e)) {
      for (const Annotation& annotation : call->annotations) collect_vars(annotation, into);
    } else if (const auto* lambda = as<FunctionNode>(e)) {
      for (const Variable& param : lambda->function->params) {
        collect_vars(param->annotation, into);
      }
      if (lambda->function->result) collect_vars(lambda->function->result, into);
    } else if (const auto* seq = as<SeqNode>(e)) {
      for (const Block& block : seq->blocks) {
        for (const Binding& binding : block.bindings) {
          collect_vars(binding.var->annotation, into);
          if (binding.match_cast) collect_vars(binding.match_cast, into);
        }
      }
    }
  });
}

std::vector<Variable> captured_variables(const Function& function, const VarNode* self) {
  std::set<const VarNode*> bound{self}, seen;
  std::vector<Variable> captured;
  auto bind_params = [&](const Function& f) {
    for (const Variable& param : f.params) bound.insert(param.get());
  };
  bind_params(function);
  visit(function.body, [&](const Expr& e) {
    if (const auto* inner = as<FunctionNode>(e)) bind_params(*inner->function);
    if (const auto* seq = as<SeqNode>(e)) {
      for (const Block& block : seq->blocks) {
        for (const Binding& binding : block.bindings) bound.insert(binding.var.get());
      }
    }
  });
  visit(function.body, [&](const Expr& e) {
    const auto* var = as<VarNode>(e);
    if (!var || bound.contains(var) || !seen.insert(var).second) return;
    captured.push_back(std::static_pointer_cast<const VarNode>(e));
  });
  return captured;
}

}  // namespace tapml::relax
