#include "interp/captures.h"

#include <set>

#include "relax/visit.h"

namespace tapml::interp {

using namespace relax;  // NOLINT: this file is about relax alone

Free free_of(const Function& function, const VarNode* self) {
  Free free;
  std::set<const VarNode*> bound = {self}, used;
  std::vector<Var> symbols;
  auto note = [&](const Annotation& annotation) { collect_vars(annotation, symbols); };
  auto enter = [&](const Function& f) {
    for (const Variable& param : f.params) {
      bound.insert(param.get());
      note(param->annotation);
    }
    note(f.result);
  };
  enter(function);
  visit(function.body, [&](const Expr& e) {
    if (const auto* var = as<VarNode>(e)) {
      if (!bound.contains(var) && used.insert(var).second) free.vars.push_back(var);
    } else if (const auto* shape = as<ShapeNode>(e)) {
      for (const PrimExpr& dim : shape->dims) tapml::collect_vars(dim, symbols);
    } else if (const auto* prim = as<PrimValueNode>(e)) {
      tapml::collect_vars(prim->value, symbols);
    } else if (const auto* call = as<CallNode>(e)) {
      for (const Annotation& a : call->annotations) note(a);
    } else if (const auto* lambda = as<FunctionNode>(e)) {
      enter(*lambda->function);
    } else if (const auto* seq = as<SeqNode>(e)) {
      for (const Block& block : seq->blocks) {
        for (const Binding& binding : block.bindings) {
          bound.insert(binding.var.get());
          note(binding.var->annotation);
          note(binding.match_cast);
        }
      }
    }
  });
  std::set<const tapml::ExprNode*> seen;
  for (const Var& var : symbols) {
    if (seen.insert(var.get()).second) free.symbols.push_back(var.get());
  }
  return free;
}

}  // namespace tapml::interp
