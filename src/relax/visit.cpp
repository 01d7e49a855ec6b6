#include "relax/visit.h"

#include "ir/exceptions.h"

namespace tapml::relax {

void visit_bindings(const Expr& body, const std::function<void(const Binding&, bool)>& f) {
  if (const auto* seq = as<SeqNode>(body)) {
    for (const Block& block : seq->blocks) {
      for (const Binding& binding : block.bindings) {
        visit_bindings(binding.value, f);
        f(binding, block.dataflow);
      }
    }
    visit_bindings(seq->result, f);
  } else if (const auto* branch = as<IfNode>(body)) {
    visit_bindings(branch->then_branch, f);
    visit_bindings(branch->else_branch, f);
  }
}

void visit(const Expr& expr, const std::function<void(const Expr&)>& f) {
  if (!expr) return;
  f(expr);
  if (const auto* tuple = as<TupleNode>(expr)) {
    for (const Expr& field : tuple->fields) visit(field, f);
  } else if (const auto* item = as<TupleGetItemNode>(expr)) {
    visit(item->tuple, f);
  } else if (const auto* call = as<CallNode>(expr)) {
    visit(call->callee, f);
    for (const Expr& arg : call->args) visit(arg, f);
  } else if (const auto* branch = as<IfNode>(expr)) {
    visit(branch->condition, f);
    visit(branch->then_branch, f);
    visit(branch->else_branch, f);
  } else if (const auto* seq = as<SeqNode>(expr)) {
    for (const Block& block : seq->blocks) {
      for (const Binding& binding : block.bindings) visit(binding.value, f);
    }
    visit(seq->result, f);
  } else if (const auto* lambda = as<FunctionNode>(expr)) {
    visit(lambda->function->body, f);
  }
}

Expr map_bodies(const Expr& expr, const std::function<Expr(const Expr&)>& f) {
  if (const auto* branch = as<IfNode>(expr)) {
    auto node = std::make_shared<IfNode>(*branch);
    node->condition = f(branch->condition);
    node->then_branch = f(branch->then_branch);
    node->else_branch = f(branch->else_branch);
    return node;
  }
  if (const auto* lambda = as<FunctionNode>(expr)) {
    auto function = std::make_shared<Function>(*lambda->function);
    function->body = f(function->body);
    auto node = std::make_shared<FunctionNode>();
    node->function = std::move(function);
    return node;
  }
  return nullptr;
}

Expr map_blocks(const Expr& body, const std::function<Block(const Block&)>& f) {
  Expr mapped = map_bodies(body, [&](const Expr& inner) { return map_blocks(inner, f); });
  if (mapped) return mapped;
  const auto* seq = as<SeqNode>(body);
  if (!seq) return body;
  std::vector<Block> blocks;
  for (const Block& block : seq->blocks) {
    Block copy = block;
    for (Binding& binding : copy.bindings) binding.value = map_blocks(binding.value, f);
    copy = f(copy);
    if (!copy.bindings.empty()) blocks.push_back(std::move(copy));
  }
  return make_seq(std::move(blocks), seq->result);
}

std::map<const VarNode*, int> use_counts(const Expr& body) {
  std::map<const VarNode*, int> counts;
  visit(body, [&](const Expr& e) {
    if (e->kind == ExprKind::kVar) ++counts[static_cast<const VarNode*>(e.get())];
  });
  return counts;
}

const SeqNode& body_of(const Function& function) {
  const auto* seq = as<SeqNode>(function.body);
  if (!seq) throw_internal("a function body is not a sequence of blocks");
  return *seq;
}

std::vector<Var> signature_vars(const Function& function) {
  std::vector<Var> vars;
  for (const Variable& param : function.params) collect_vars(param->annotation, vars);
  return vars;
}

}  // namespace tapml::relax
