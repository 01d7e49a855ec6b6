#include "passes/check_consumption.h"

#include <map>
#include <set>
#include <utility>

#include "base/undo_map.h"
#include "ir/exceptions.h"
#include "op/operator.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "passes/legalize.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

// Indices of the parameters that each function updates in place.
using Updates = std::map<std::string, std::set<size_t>>;

class Consumption {
 public:
  Consumption(const std::string& name, const Updates& updates) : name_(name), updates_(updates) {}

  // Walks the function; `strict` also checks for uses after an update.
  std::set<size_t> run(const Function& function, bool strict) {
    strict_ = strict;
    body(function.body);
    std::set<size_t> numbers;
    for (size_t i = 0; i < function.params.size(); ++i) {
      if (consumer(function.params[i].get())) numbers.insert(i);
    }
    return numbers;
  }

 private:
  void body(const Expr& body) {
    const auto* seq = as<SeqNode>(body);
    if (!seq) return;
    for (const Block& block : seq->blocks) {
      for (const Binding& binding : block.bindings) bind(binding);
    }
    uses(seq->result, "the result");
  }

  void bind(const Binding& binding) {
    if (const auto* branch = as<IfNode>(binding.value)) {
      // Only one branch runs: what it consumes is consumed after the if, but not in the other
      // branch.
      uses(branch->condition, binding.var->name);
      run_sides(consumed_, [&] { body(branch->then_branch); }, [&] { body(branch->else_branch); });
      return;
    }
    uses(binding.value, binding.var->name);
    if (const auto* lambda = as<FunctionNode>(binding.value)) {
      // Captures may be consumed by the time the lambda runs, and it may run twice: it must not
      // update them.
      const size_t before = consumed_.changes();
      body(lambda->function->body);
      consumed_.undo(before);
      return;
    }
    share(binding.var.get(), binding.value);
    const auto* call = as<CallNode>(binding.value);
    const std::string& op = called_operator(binding.value);
    if (call) consume_by_call(binding, *call);
    if (!call || op.empty()) return;
    if (is_view(op) && !call->args.empty()) {
      if (const auto* var = as<VarNode>(call->args[0])) alias_[binding.var.get()] = root(var);
    }
    const op::OperatorInfo* info = op::called_operator_info(binding.value);
    if (!info) return;
    for (int64_t index : info->inout) {
      if (index < 0 || static_cast<size_t>(index) >= call->args.size()) continue;
      consume(call->args[static_cast<size_t>(index)], op);
    }
  }

  // Records the storage that `var` shares as another name of a variable, as a tuple, or as a field.
  void share(const VarNode* var, const Expr& value) {
    if (const auto* other = as<VarNode>(value)) {
      alias_[var] = root(other);
    } else if (const auto* tuple = as<TupleNode>(value)) {
      for (size_t i = 0; i < tuple->fields.size(); ++i) {
        if (const auto* field = as<VarNode>(tuple->fields[i])) fields_[var][i] = root(field);
      }
    } else if (const auto* item = as<TupleGetItemNode>(value)) {
      const auto* whole = as<VarNode>(item->tuple);
      if (!whole) return;
      // The first read of a field of an unknown tuple names it.
      auto [it, is_new] = fields_[root(whole)].try_emplace(static_cast<size_t>(item->index), var);
      if (!is_new) alias_[var] = it->second;
    }
  }

  void consume(const Expr& arg, const std::string& by) {
    if (const auto* var = as<VarNode>(arg)) consume(root(var), by);
  }
  // Of a tuple, all fields.
  void consume(const VarNode* own, const std::string& by) {
    consumed_.set(own, by);
    auto fields = fields_.find(own);
    if (fields == fields_.end()) return;
    for (const auto& [index, field] : fields->second) consume(field, by);
  }

  // What consumed the variable, or the field of a tuple; null if nothing did.
  const std::string* consumer(const VarNode* var) const {
    const VarNode* own = root(var);
    if (const std::string* by = consumed_.find(own)) return by;
    auto fields = fields_.find(own);
    if (fields == fields_.end()) return nullptr;
    for (const auto& [index, field] : fields->second) {
      if (const std::string* by = consumer(field)) return by;
    }
    return nullptr;
  }

  // Handles calls of in-place kernels and of functions that update their parameters.
  void consume_by_call(const Binding& binding, const CallNode& call) {
    const auto* global = as<GlobalVarNode>(call.callee);
    auto it = global ? updates_.find(global->name) : updates_.end();
    if (global && it != updates_.end()) {
      for (size_t index : it->second) {
        if (index < call.args.size()) consume(call.args[index], "@" + global->name);
      }
    }
    const auto* inout = find_attr<std::vector<int64_t>>(call.attrs, kInoutAttr);
    if (!inout || called_operator(binding.value) != "call_tir_inplace") return;
    for (int64_t index : *inout) {
      const std::vector<Expr>& args = call_tir_args(call);
      if (index < 0 || static_cast<size_t>(index) >= args.size()) continue;
      consume(args[static_cast<size_t>(index)], "@" + call_tir_callee(call));
    }
  }

  void uses(const Expr& value, const std::string& place) {
    if (!strict_) return;
    const VarNode* whole = nullptr;  // the tuple of a projection, which uses one field only
    visit(value, [&](const Expr& expr) {
      const auto* var = as<VarNode>(expr);
      if (const auto* item = as<TupleGetItemNode>(expr)) {
        whole = as<VarNode>(item->tuple);
        if (whole) use_field(*whole, item->index, place);
      } else if (var && std::exchange(whole, nullptr) != var) {
        use(consumer(var), var->name, place);
      }
    });
  }

  void use_field(const VarNode& whole, int index, const std::string& place) {
    const std::string* by = consumed_.find(root(&whole));
    auto fields = fields_.find(root(&whole));
    if (!by && fields != fields_.end()) {
      auto field = fields->second.find(static_cast<size_t>(index));
      if (field != fields->second.end()) by = consumer(field->second);
    }
    use(by, whole.name + "[" + std::to_string(index) + "]", place);
  }

  // Refuses a use of `what`, which `by` consumed, if anything did.
  void use(const std::string* by, const std::string& what, const std::string& place) {
    if (!by) return;
    throw_user("'" + what + "' is used after " + *by + " updated it in place",
               "@" + name_ + ", " + place, "the result of " + *by, what,
               "copy(" + what + ") before the update keeps the old value");
  }

  const VarNode* root(const VarNode* var) const {
    auto it = alias_.find(var);
    return it == alias_.end() ? var : it->second;
  }

  const std::string& name_;
  const Updates& updates_;
  bool strict_ = true;
  std::map<const VarNode*, const VarNode*> alias_;
  std::map<const VarNode*, std::map<size_t, const VarNode*>> fields_;  // known fields of tuples
  UndoMap<const VarNode*, std::string> consumed_;                      // by what consumed it
};

}  // namespace

namespace {

// The caller of a function value cannot know that it updates its arguments.
void check_values(const Function& function, const std::string& name, const Updates& updates) {
  auto refuse = [&](const Expr& value) {
    const auto* global = as<GlobalVarNode>(value);
    auto it = global ? updates.find(global->name) : updates.end();
    if (it == updates.end() || it->second.empty()) return;
    throw_user("@" + global->name + " updates an argument in place and is used as a value",
               "@" + name, "calls of it by its name", "@" + global->name,
               "copy(x) before the update keeps the argument");
  };
  visit_bindings(function.body, [&](const Binding& binding, bool) {
    if (const auto* call = as<CallNode>(binding.value)) {
      for (const Expr& arg : call->args) refuse(arg);
    } else if (const auto* lambda = as<FunctionNode>(binding.value)) {
      visit_bindings(lambda->function->body, [&](const Binding& inner, bool) {
        const auto* call = as<CallNode>(inner.value);
        if (call) refuse(call->callee);
      });
    } else if (const auto* branch = as<IfNode>(binding.value)) {
      // The bindings of both branches are visited by themselves.
      for (const Expr& side : {branch->condition, branch->then_branch, branch->else_branch}) {
        const auto* seq = as<SeqNode>(side);
        visit(seq ? seq->result : side, refuse);
      }
    } else {
      visit(binding.value, refuse);
    }
  });
  visit(body_of(function).result, refuse);
}

}  // namespace

void check_consumption(const Module& module) {
  const auto functions = graph_functions(module);
  // What a function updates, its callers update too.
  std::map<std::string, const Function*> pending(functions.begin(), functions.end());
  const std::map<std::string, const Function*> by_name = pending;
  std::map<std::string, std::set<std::string>> callers;
  for (const auto& [name, function] : functions) {
    visit(function->body, [&, &name = name](const Expr& expr) {
      if (const auto* global = as<GlobalVarNode>(expr)) callers[global->name].insert(name);
    });
  }
  Updates updates;
  while (!pending.empty()) {
    const auto [name, function] = *pending.begin();
    pending.erase(pending.begin());
    std::set<size_t> numbers = Consumption(name, updates).run(*function, false);
    if (numbers.empty() || numbers == updates[name]) continue;
    updates[name] = std::move(numbers);
    for (const std::string& caller : callers[name]) pending[caller] = by_name.at(caller);
  }
  for (const auto& [name, function] : functions) {
    Consumption(name, updates).run(*function, true);
    check_values(*function, name, updates);
  }
}

}  // namespace tapml::passes
