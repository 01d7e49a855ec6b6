#include "passes/check_consumption.h"

#include <map>

#include "ir/exceptions.h"
#include "op/operator.h"
#include "passes/legalize.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

class Consumption {
 public:
  explicit Consumption(const std::string& name) : name_(name) {}

  void body(const Expr& body) {
    const auto* seq = as<SeqNode>(body);
    if (!seq) return;
    for (const Block& block : seq->blocks) {
      for (const Binding& binding : block.bindings) bind(binding);
    }
    uses(seq->result, "the result");
  }

 private:
  void bind(const Binding& binding) {
    if (const auto* branch = as<IfNode>(binding.value)) {
      // Only one side runs: what it consumes is gone after the if, not in the other.
      uses(branch->condition, binding.var->name);
      auto before = consumed_, after = consumed_;
      for (const Expr& side : {branch->then_branch, branch->else_branch}) {
        consumed_ = before;
        body(side);
        after.insert(consumed_.begin(), consumed_.end());
      }
      consumed_ = std::move(after);
      return;
    }
    uses(binding.value, binding.var->name);
    if (const auto* var = as<VarNode>(binding.value)) alias_[binding.var.get()] = root(var);
    const auto* call = as<CallNode>(binding.value);
    const std::string& op = called_operator(binding.value);
    if (!call || op.empty()) return;
    if (is_view(op) && !call->args.empty()) {
      if (const auto* var = as<VarNode>(call->args[0])) alias_[binding.var.get()] = root(var);
    }
    const op::OperatorInfo* info = op::find_operator(op);
    if (!info) return;
    for (int64_t index : info->inout) {
      if (index < 0 || static_cast<size_t>(index) >= call->args.size()) continue;
      const auto* var = as<VarNode>(call->args[static_cast<size_t>(index)]);
      if (var) consumed_[root(var)] = op;
    }
  }

  void uses(const Expr& value, const std::string& place) {
    visit(value, [&](const Expr& expr) {
      const auto* var = as<VarNode>(expr);
      if (!var) return;
      auto it = consumed_.find(root(var));
      if (it == consumed_.end()) return;
      throw_user("'" + var->name + "' is used after " + it->second + " updated it in place",
                 "@" + name_ + ", " + place, "the result of " + it->second, var->name,
                 "copy(" + var->name + ") before the update keeps what it was");
    });
  }

  const VarNode* root(const VarNode* var) const {
    auto it = alias_.find(var);
    return it == alias_.end() ? var : it->second;
  }

  const std::string& name_;
  std::map<const VarNode*, const VarNode*> alias_;
  std::map<const VarNode*, std::string> consumed_;
};

}  // namespace

void check_consumption(const Function& function, const std::string& name) {
  Consumption(name).body(function.body);
}

}  // namespace tapml::passes
