#include "analysis/alias_sets.h"

#include "relax/storage.h"
#include "relax/visit.h"

namespace tapml::analysis {

using namespace relax;  // NOLINT: this file is about relax alone

const VarNode* AliasSets::root(const VarNode* var) const {
  auto it = parent_.find(var);
  while (it != parent_.end() && it->second != var) {
    auto above = parent_.find(it->second);
    if (above != parent_.end()) it->second = above->second;
    var = it->second;
    it = parent_.find(var);
  }
  return var;
}

void AliasSets::unite(const VarNode* a, const VarNode* b) {
  const VarNode *x = root(a), *y = root(b);
  parent_.try_emplace(x, x);
  parent_[y] = x;
}

bool AliasSets::may_alias(const VarNode* a, const VarNode* b) const { return root(a) == root(b); }

AliasSets alias_sets(const Function& function) {
  AliasSets sets;
  // `var` may be any tensor in `value`.
  auto share = [&](const VarNode* var, const Expr& value) {
    visit(value, [&](const Expr& part) {
      if (const auto* other = as<VarNode>(part)) sets.unite(other, var);
    });
  };
  for (const Variable& param : function.params) sets.unite(function.params[0].get(), param.get());
  visit_bindings(function.body, [&](const Binding& binding, bool) {
    const VarNode* var = binding.var.get();
    const Expr& value = binding.value;
    if (const auto* branch = as<IfNode>(value)) {
      for (const Expr& side : {branch->then_branch, branch->else_branch}) {
        const auto* seq = as<SeqNode>(side);
        share(var, seq ? seq->result : side);
      }
      return;
    }
    const auto* call = as<CallNode>(value);
    if (!call) return share(var, value);  // a lambda shares with all that it captures
    const auto* op = as<OperatorNode>(call->callee);
    if (!op) return share(var, value);
    if (is_storage_view(storage_op(*call)) || op->name == "reshape") share(var, call->args[0]);
    if (op->name == "call_tir_inplace") share(var, value);
  });
  return sets;
}

}  // namespace tapml::analysis
