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
      default:
        return expr;
    }
  }

 private:
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
        b.value = (*this)(binding.value);
        b.match_cast = substitute(binding.match_cast, symbols_);
        if (!symbols_.empty()) {
          b.var = make_variable(binding.var->name, substitute(binding.var->annotation, symbols_),
                                binding.var->dataflow);
          vars_[binding.var.get()] = b.var;
        }
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

namespace {

bool unify_dims(const Dims& params, const Dims& args, VarMap& values) {
  if (params.size() != args.size()) return false;
  for (size_t i = 0; i < params.size(); ++i) {
    if (params[i].is_var()) {
      auto [it, is_new] = values.emplace(params[i].get(), args[i]);
      if (!is_new && it->second.is_int() && args[i].is_int() &&
          it->second->int_value != args[i]->int_value) {
        return false;
      }
    } else if (params[i].is_int() && args[i].is_int() &&
               params[i]->int_value != args[i]->int_value) {
      return false;
    }
  }
  return true;
}

}  // namespace

bool unify(const Annotation& param, const Annotation& argument, VarMap& values) {
  if (param->kind == AnnotationKind::kObject || argument->kind == AnnotationKind::kObject) {
    return true;
  }
  if (param->kind != argument->kind) return false;
  if (const auto* p = as_prim(param)) {
    const auto* a = as_prim(argument);
    if (p->value && a->value && p->value.is_var()) values.emplace(p->value.get(), a->value);
    return p->dtype == a->dtype;
  }
  if (const auto* p = as_shape(param)) {
    const auto* a = as_shape(argument);
    if (p->ndim != kUnknownNdim && a->ndim != kUnknownNdim && p->ndim != a->ndim) return false;
    return !p->dims || !a->dims || unify_dims(*p->dims, *a->dims, values);
  }
  if (const auto* p = as_tensor(param)) {
    const auto* a = as_tensor(argument);
    if (p->dtype && a->dtype && *p->dtype != *a->dtype) return false;
    if (p->ndim != kUnknownNdim && a->ndim != kUnknownNdim && p->ndim != a->ndim) return false;
    return !p->shape || !a->shape || unify_dims(*p->shape, *a->shape, values);
  }
  if (const auto* p = as_tuple(param)) {
    const auto* a = as_tuple(argument);
    if (p->fields.size() != a->fields.size()) return false;
    for (size_t i = 0; i < p->fields.size(); ++i) {
      if (!unify(p->fields[i], a->fields[i], values)) return false;
    }
  }
  return true;
}

}  // namespace tapml::relax
