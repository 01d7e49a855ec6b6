#include "passes/storage/view_flow.h"

#include <algorithm>
#include <map>

#include "op/operator.h"
#include "op/shapes.h"
#include "passes/graph_functions.h"
#include "passes/kernel.h"
#include "relax/storage.h"
#include "relax/visit.h"

namespace tapml::passes {

using namespace relax;  // NOLINT: this file is about relax alone

namespace {

bool may_hold_tensors(const Annotation& annotation) {
  return !as_prim(annotation) && !as_shape(annotation);
}

}  // namespace

bool are_rows(const Dims& of, const Dims& size) {
  if (of.size() != size.size()) return false;
  size_t d = 0;
  while (d < size.size() && size[d].is_int(1)) ++d;
  for (++d; d < size.size(); ++d) {
    if (!op::provably_equal(of[d], size[d])) return false;
  }
  return true;
}

ViewFlow::ViewFlow(const Module& module) : module_(module) {
  std::map<std::string, const Function*> functions;
  std::map<std::string, std::set<std::string>> callers;
  for (const auto& [name, function] : graph_functions(module)) {
    if (is_fused(*function)) continue;
    functions[name] = function;
    pending_.insert(name);
    visit(function->body, [&, &name = name](const Expr& e) {
      if (const auto* global = as<GlobalVarNode>(e)) callers[global->name].insert(name);
    });
  }
  while (!pending_.empty()) {
    const std::string name = *pending_.begin();
    pending_.erase(pending_.begin());
    auto function = functions.find(name);
    if (function == functions.end()) continue;
    const bool took = values_take_, gave = values_give_;
    changed_ = false;
    if (value(function->second->body) && results_.insert(name).second) {
      pending_.insert(callers[name].begin(), callers[name].end());
    }
    if (changed_) pending_.insert(name);
    if (took == values_take_ && gave == values_give_) continue;
    for (const auto& [other, node] : functions) pending_.insert(other);
  }
}

bool ViewFlow::mark(const VarNode* var) {
  const bool is_new = may_hold_tensors(var->annotation) && views_.insert(var).second;
  changed_ |= is_new;
  return is_new;
}

// A function used as a value: its callers are unknown.
void ViewFlow::as_value(const Function& lambda, bool result_may_be_view) {
  if (result_may_be_view) values_give_ = true;
  if (!values_take_) return;
  for (const Variable& param : lambda.params) mark(param.get());
}

void ViewFlow::as_value(const Function& function, const std::string& name) {
  if (results_.contains(name)) values_give_ = true;
  if (!values_take_) return;
  for (const Variable& param : function.params) {
    if (mark(param.get())) pending_.insert(name);
  }
}

bool ViewFlow::sequence(const SeqNode& seq) {
  for (const Block& block : seq.blocks) {
    for (const Binding& binding : block.bindings) {
      if (value(binding.value)) mark(binding.var.get());
    }
  }
  return value(seq.result);
}

bool ViewFlow::value(const Expr& expr) {
  if (const auto* var = as<VarNode>(expr)) return may_be_view(var);
  if (const auto* seq = as<SeqNode>(expr)) return sequence(*seq);
  if (const auto* item = as<TupleGetItemNode>(expr)) return value(item->tuple);
  if (const auto* node = as<CallNode>(expr)) return call(*node);
  if (const auto* tuple = as<TupleNode>(expr)) {
    bool any = false;
    for (const Expr& field : tuple->fields) any |= value(field);
    return any;
  }
  if (const auto* branch = as<IfNode>(expr)) {
    const bool then_view = value(branch->then_branch);
    return value(branch->else_branch) || then_view;
  }
  if (const auto* lambda = as<FunctionNode>(expr)) {
    as_value(*lambda->function, value(lambda->function->body));
  } else if (const auto* global = as<GlobalVarNode>(expr)) {
    used_.insert(global->name);
    if (const auto* function = as_relax_function(module_.find(global->name))) {
      as_value(*function, global->name);
    }
  }
  return false;
}

bool ViewFlow::call(const CallNode& call) {
  if (const auto* global = as<GlobalVarNode>(call.callee)) {
    return call_function(call, global->name);
  }
  bool takes = false;
  for (const Expr& arg : call.args) takes |= value(arg);
  if (as<VarNode>(call.callee)) {
    if (takes) values_take_ = true;
    return values_give_;
  }
  if (!as<OperatorNode>(call.callee)) return false;
  const StorageOp op = storage_op(call);
  if (is_storage_view(op)) return storage_view(call);
  return op == StorageOp::kNone && updated(call);
}

bool ViewFlow::call_function(const CallNode& call, const std::string& name) {
  used_.insert(name);
  const auto* function = as_relax_function(module_.find(name));
  const bool fused = function && is_fused(*function);
  for (size_t i = 0; i < call.args.size(); ++i) {
    const bool view = value(call.args[i]);
    if (view && function && !fused && i < function->params.size()) {
      if (mark(function->params[i].get())) pending_.insert(name);
    }
  }
  return results_.contains(name);
}

bool ViewFlow::storage_view(const CallNode& call) {
  const StorageOp op = storage_op(call);
  if (op == StorageOp::kBase || op == StorageOp::kViewReshape) return false;
  if (op == StorageOp::kViewTranspose) {
    const auto* axes = find_attr<std::vector<int64_t>>(call.attrs, "axes");
    return value(call.args[0]) || !axes || !std::is_sorted(axes->begin(), axes->end());
  }
  if (value(call.args[0])) return true;
  const Annotation source = annotation_of(call.args[0]), size = annotation_of(call.args[2]);
  const auto* tensor = as_tensor(source);
  const auto* shape = as_shape(size);
  return !tensor || !tensor->shape || !shape || !shape->dims ||
         !are_rows(*tensor->shape, *shape->dims);
}

// An update in place returns its argument.
bool ViewFlow::updated(const CallNode& call) {
  const std::string& name = as<OperatorNode>(call.callee)->name;
  const std::vector<Expr>* args = &call.args;
  const std::vector<int64_t>* indices = nullptr;
  if (name == "call_tir_inplace") {
    args = &call_tir_args(call);
    indices = find_attr<std::vector<int64_t>>(call.attrs, kInoutAttr);
  } else if (const op::OperatorInfo* info = op::operator_of(*as<OperatorNode>(call.callee))) {
    indices = &info->inout;
  }
  if (!indices) return false;
  return std::any_of(indices->begin(), indices->end(), [&](int64_t index) {
    return index >= 0 && static_cast<size_t>(index) < args->size() &&
           value((*args)[static_cast<size_t>(index)]);
  });
}

}  // namespace tapml::passes
