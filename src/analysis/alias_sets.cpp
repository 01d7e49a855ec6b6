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

bool AliasSets::may_be_written(const VarNode* var) const { return written_.contains(root(var)); }

bool AliasSets::is_shared(const VarNode* var) const { return shared_.contains(root(var)); }

class AliasFinder {
 public:
  explicit AliasFinder(const Module* module) : module_(module) {}

  AliasSets run(const Function& function) {
    for (const Variable& param : function.params) {
      sets_.unite(function.params[0].get(), param.get());
      shared_.push_back(param.get());
    }
    visit_bindings(function.body, [&](const Binding& binding, bool) { bind(binding); });
    if (const auto* seq = as<SeqNode>(function.body)) add_vars(seq->result, shared_);
    for (const VarNode* var : written_) sets_.written_.insert(sets_.root(var));
    for (const VarNode* var : shared_) sets_.shared_.insert(sets_.root(var));
    return std::move(sets_);
  }

 private:
  static void add_vars(const Expr& expr, std::vector<const VarNode*>& into) {
    visit(expr, [&](const Expr& part) {
      if (const auto* var = as<VarNode>(part)) into.push_back(var);
    });
  }

  // Records that `var` may be any tensor in `value`.
  void share(const VarNode* var, const Expr& value) {
    visit(value, [&](const Expr& part) {
      if (const auto* other = as<VarNode>(part)) sets_.unite(other, var);
    });
  }

  void bind(const Binding& binding) {
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
    const auto* lambda = as<FunctionNode>(value);
    if (lambda && !lambda->function->pure) add_vars(value, written_);
    if (!call) return share(var, value);  // a lambda shares with all that it captures
    const auto* op = as<OperatorNode>(call->callee);
    if (!op) {
      if (may_write(call->callee)) add_vars(value, written_);
      return share(var, value);
    }
    const StorageOp storage = storage_op(*call);
    if (is_storage_view(storage) || op->name == "reshape") share(var, call->args[0]);
    if (is_write(storage)) add_vars(call->args[0], written_);
    if (op->name == "call_tir_inplace") share(var, value);
  }

  bool may_write(const Expr& callee) const {
    const auto* global = as<GlobalVarNode>(callee);
    if (global && module_) {
      const auto* function = as_relax_function(module_->find(global->name));
      return !function || !function->pure;
    }
    const auto* var = as<VarNode>(callee);
    const auto* callable = var ? as_callable(var->annotation) : nullptr;
    return !callable || !callable->pure;
  }

  const Module* module_;
  AliasSets sets_;
  std::vector<const VarNode*> written_, shared_;
};

AliasSets alias_sets(const Function& function, const Module* module) {
  return AliasFinder(module).run(function);
}

bool writes_storage(const Module& module) {
  for (const auto& [name, base] : module.functions) {
    const auto* function = as_relax_function(base.get());
    if (!function || function->pure) continue;
    bool writes = false;
    visit_bindings(function->body, [&](const Binding& binding, bool) {
      writes |= is_write(storage_op(binding.value));
    });
    if (writes) return true;
  }
  return false;
}

}  // namespace tapml::analysis
