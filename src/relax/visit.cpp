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

Expr map_blocks(const Expr& body, const std::function<Block(const Block&)>& f) {
  if (const auto* branch = as<IfNode>(body)) {
    auto node = std::make_shared<IfNode>(*branch);
    node->then_branch = map_blocks(branch->then_branch, f);
    node->else_branch = map_blocks(branch->else_branch, f);
    return node;
  }
  if (const auto* lambda = as<FunctionNode>(body)) {
    auto function = std::make_shared<Function>(*lambda->function);
    function->body = map_blocks(function->body, f);
    auto node = std::make_shared<FunctionNode>();
    node->function = std::move(function);
    return node;
  }
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

namespace {

// Rebuilds expressions; variables go through `vars`, symbolic expressions through `symbols`.
class Substituter {
 public:
  Substituter(ExprMap vars, const VarMap& symbols) : vars_(std::move(vars)), symbols_(symbols) {}

  Expr operator()(const Expr& expr) {
    if (!expr) return expr;
    switch (expr->kind) {
      case ExprKind::kVar: {
        auto it = vars_.find(static_cast<const VarNode*>(expr.get()));
        return it == vars_.end() ? expr : it->second;
      }
      case ExprKind::kShape: {
        if (symbols_.empty()) return expr;
        return make_shape(dims(as<ShapeNode>(expr)->dims));
      }
      case ExprKind::kPrimValue: {
        if (symbols_.empty()) return expr;
        return make_prim_value(tapml::substitute(as<PrimValueNode>(expr)->value, symbols_));
      }
      case ExprKind::kTuple:
        return make_tuple(list(as<TupleNode>(expr)->fields));
      case ExprKind::kTupleGetItem: {
        const auto* item = as<TupleGetItemNode>(expr);
        return make_get_item((*this)(item->tuple), item->index);
      }
      case ExprKind::kCall: {
        const auto* call = as<CallNode>(expr);
        std::vector<Annotation> annotations;
        for (const Annotation& a : call->annotations) {
          annotations.push_back(substitute(a, symbols_));
        }
        return make_call((*this)(call->callee), list(call->args), call->attrs,
                         std::move(annotations));
      }
      case ExprKind::kIf: {
        auto node = std::make_shared<IfNode>(*as<IfNode>(expr));
        node->condition = (*this)(node->condition);
        node->then_branch = (*this)(node->then_branch);
        node->else_branch = (*this)(node->else_branch);
        return node;
      }
      case ExprKind::kSeq:
        return seq(*as<SeqNode>(expr));
      case ExprKind::kFunction: {
        auto function = std::make_shared<Function>(*as<FunctionNode>(expr)->function);
        for (Variable& param : function->params) param = renewed(param);
        if (function->result) function->result = substitute(function->result, symbols_);
        function->body = (*this)(function->body);
        auto node = std::make_shared<FunctionNode>();
        node->function = std::move(function);
        return node;
      }
      default:
        return expr;
    }
  }

 private:
  // A bound variable with its annotation rewritten.
  Variable renewed(const Variable& var) {
    if (symbols_.empty()) return var;
    Variable renewed =
        make_variable(var->name, substitute(var->annotation, symbols_), var->dataflow);
    vars_[var.get()] = renewed;
    return renewed;
  }

  std::vector<Expr> list(const std::vector<Expr>& exprs) {
    std::vector<Expr> result;
    result.reserve(exprs.size());
    for (const Expr& e : exprs) result.push_back((*this)(e));
    return result;
  }

  Dims dims(const Dims& list) {
    Dims result;
    for (const PrimExpr& dim : list) result.push_back(tapml::substitute(dim, symbols_));
    return result;
  }

  Expr seq(const SeqNode& node) {
    std::vector<Block> blocks;
    for (const Block& block : node.blocks) {
      Block copy;
      copy.dataflow = block.dataflow;
      for (const Binding& binding : block.bindings) {
        Binding b = binding;
        // A lambda may refer to its own variable.
        const bool recursive = binding.value && binding.value->kind == ExprKind::kFunction;
        if (recursive) b.var = renewed(binding.var);
        b.value = (*this)(binding.value);
        b.match_cast = substitute(binding.match_cast, symbols_);
        if (!recursive) b.var = renewed(binding.var);
        copy.bindings.push_back(std::move(b));
      }
      blocks.push_back(std::move(copy));
    }
    return make_seq(std::move(blocks), (*this)(node.result));
  }

  ExprMap vars_;
  const VarMap& symbols_;
};

}  // namespace

Expr substitute(const Expr& expr, const ExprMap& values) {
  static const VarMap kNone;
  return values.empty() ? expr : Substituter(values, kNone)(expr);
}

Expr substitute_symbols(const Expr& expr, const VarMap& values) {
  return values.empty() ? expr : Substituter({}, values)(expr);
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
