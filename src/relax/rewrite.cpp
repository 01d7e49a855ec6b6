#include "relax/rewrite.h"

#include "ir/symbol.h"

namespace tapml::relax {

namespace {

class Rewriter {
 public:
  // Called with an annotation before the variables that it binds (a match_cast, a lambda's
  // parameter) are in scope.
  using Enter = std::function<void(const Annotation&)>;

  // If `symbols` is null, symbolic variables stay, and so do bound variables. `values` is not
  // copied: a pass over a long function passes a growing map.
  Rewriter(const ExprMap& values, const SymbolMap& symbols, Enter enter = nullptr)
      : values_(values), symbols_(symbols), enter_(std::move(enter)) {}

  FunctionRef function(const Function& source) {
    if (enter_) {
      for (const Variable& param : source.params) enter_(param->annotation);
    }
    auto own = std::make_shared<Function>(source);
    for (Variable& param : own->params) param = bound(param);
    own->body = expr(source.body);
    own->result = annotation(source.result);
    return own;
  }

  Expr expr(const Expr& e) {
    if (!e) return e;
    switch (e->kind) {
      case ExprKind::kVar: {
        const auto* var = static_cast<const VarNode*>(e.get());
        if (auto own = bound_.find(var); own != bound_.end()) return own->second;
        auto it = values_.find(var);
        return it == values_.end() ? e : it->second;
      }
      case ExprKind::kShape: {
        if (!symbols_) return e;
        Dims dims;
        for (const PrimExpr& dim : as<ShapeNode>(e)->dims) dims.push_back(symbols_(dim));
        return make_shape(std::move(dims));
      }
      case ExprKind::kPrimValue:
        return symbols_ ? make_prim_value(symbols_(as<PrimValueNode>(e)->value)) : e;
      case ExprKind::kTuple:
        return make_tuple(list(as<TupleNode>(e)->fields));
      case ExprKind::kTupleGetItem: {
        const auto* item = as<TupleGetItemNode>(e);
        return make_get_item(expr(item->tuple), item->index);
      }
      case ExprKind::kCall: {
        const auto* call = as<CallNode>(e);
        std::vector<Annotation> annotations;
        annotations.reserve(call->annotations.size());
        for (const Annotation& a : call->annotations) annotations.push_back(annotation(a));
        return make_call(expr(call->callee), list(call->args), call->attrs, std::move(annotations));
      }
      case ExprKind::kIf: {
        auto node = std::make_shared<IfNode>(*as<IfNode>(e));
        node->condition = expr(node->condition);
        node->then_branch = expr(node->then_branch);
        node->else_branch = expr(node->else_branch);
        return node;
      }
      case ExprKind::kSeq:
        return sequence(*as<SeqNode>(e));
      case ExprKind::kFunction: {
        auto node = std::make_shared<FunctionNode>();
        node->function = function(*as<FunctionNode>(e)->function);
        return node;
      }
      default:
        return e;
    }
  }

 private:
  Annotation annotation(const Annotation& a) const {
    return a && symbols_ ? map_symbols(a, symbols_) : a;
  }

  // The variable that replaces `var` in its binding.
  Variable bound(const Variable& var) {
    if (!symbols_) return var;
    Variable own = make_variable(var->name, annotation(var->annotation), var->dataflow);
    bound_[var.get()] = own;
    return own;
  }

  std::vector<Expr> list(const std::vector<Expr>& exprs) {
    std::vector<Expr> result;
    result.reserve(exprs.size());
    for (const Expr& e : exprs) result.push_back(expr(e));
    return result;
  }

  Expr sequence(const SeqNode& seq) {
    std::vector<Block> blocks;
    blocks.reserve(seq.blocks.size());
    for (const Block& block : seq.blocks) {
      Block own{.dataflow = block.dataflow, .bindings = {}};
      own.bindings.reserve(block.bindings.size());
      for (const Binding& binding : block.bindings) own.bindings.push_back(rebound(binding));
      blocks.push_back(std::move(own));
    }
    return make_seq(std::move(blocks), expr(seq.result));
  }

  Binding rebound(const Binding& binding) {
    Binding own = binding;
    // A lambda may call itself, so its variable comes first.
    const bool is_lambda = binding.value && binding.value->kind == ExprKind::kFunction;
    if (is_lambda) own.var = bound(binding.var);
    own.value = expr(binding.value);
    if (binding.match_cast) {
      if (enter_) enter_(binding.match_cast);
      own.match_cast = annotation(binding.match_cast);
    }
    if (!is_lambda) own.var = bound(binding.var);
    return own;
  }

  const ExprMap& values_;
  ExprMap bound_;  // the new variables; take precedence over `values`
  const SymbolMap& symbols_;
  Enter enter_;
};

}  // namespace

Expr substitute(const Expr& expr, const ExprMap& values) {
  return values.empty() ? expr : Rewriter(values, SymbolMap()).expr(expr);
}

Expr substitute_symbols(const Expr& expr, const VarMap& values) {
  return values.empty() ? expr : substitute_all(expr, {}, values);
}

Expr substitute_all(const Expr& expr, ExprMap values, const VarMap& symbols) {
  SymbolMap f;
  if (!symbols.empty()) {
    f = [&](const PrimExpr& e) { return tapml::substitute(e, symbols); };
  }
  return Rewriter(values, f).expr(expr);
}

Expr refresh(const Expr& expr, const ExprMap& values, const VarMap& symbols) {
  VarMap known = symbols;
  SymbolMap f = [&](const PrimExpr& e) { return tapml::substitute(e, known); };
  // Variables that have no value where an annotation binds them become new ones.
  Rewriter::Enter enter = [&](const Annotation& annotation) {
    std::vector<Var> vars;
    collect_vars(annotation, vars);
    for (const Var& var : vars) {
      if (!known.contains(var.get())) known[var.get()] = fresh_symbol(var);
    }
  };
  return Rewriter(values, f, enter).expr(expr);
}

FunctionRef map_symbols(const Function& function, const SymbolMap& f) {
  return Rewriter({}, f).function(function);
}

}  // namespace tapml::relax
