#include "relax/map_symbols.h"

#include "relax/visit.h"

namespace tapml::relax {

namespace {

Dims map_dims(const Dims& dims, const SymbolMap& f) {
  Dims result;
  for (const PrimExpr& dim : dims) result.push_back(f(dim));
  return result;
}

class Mapper {
 public:
  explicit Mapper(const SymbolMap& f) : f_(f) {}

  FunctionRef function(const Function& source) {
    auto own = std::make_shared<Function>(source);
    for (Variable& param : own->params) param = fresh(param);
    own->body = expr(source.body);
    own->result = annotation(source.result);
    return own;
  }

 private:
  Annotation annotation(const Annotation& a) { return a ? map_symbols(a, f_) : a; }

  Variable fresh(const Variable& var) {
    Variable own = make_variable(var->name, annotation(var->annotation), var->dataflow);
    vars_[var.get()] = own;
    return own;
  }

  std::vector<Expr> list(const std::vector<Expr>& exprs) {
    std::vector<Expr> result;
    for (const Expr& e : exprs) result.push_back(expr(e));
    return result;
  }

  Expr expr(const Expr& e) {
    switch (e->kind) {
      case ExprKind::kVar: {
        auto it = vars_.find(as<VarNode>(e));
        return it == vars_.end() ? e : it->second;
      }
      case ExprKind::kShape:
        return make_shape(map_dims(as<ShapeNode>(e)->dims, f_));
      case ExprKind::kPrimValue:
        return make_prim_value(f_(as<PrimValueNode>(e)->value));
      case ExprKind::kTuple:
        return make_tuple(list(as<TupleNode>(e)->fields));
      case ExprKind::kTupleGetItem:
        return make_get_item(expr(as<TupleGetItemNode>(e)->tuple), as<TupleGetItemNode>(e)->index);
      case ExprKind::kCall: {
        const auto* call = as<CallNode>(e);
        std::vector<Annotation> annotations;
        for (const Annotation& a : call->annotations) annotations.push_back(annotation(a));
        return make_call(expr(call->callee), list(call->args), call->attrs, std::move(annotations));
      }
      case ExprKind::kIf: {
        auto node = std::make_shared<IfNode>();
        node->condition = expr(as<IfNode>(e)->condition);
        node->then_branch = expr(as<IfNode>(e)->then_branch);
        node->else_branch = expr(as<IfNode>(e)->else_branch);
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

  Expr sequence(const SeqNode& seq) {
    std::vector<Block> blocks;
    for (const Block& block : seq.blocks) {
      Block own{.dataflow = block.dataflow, .bindings = {}};
      for (const Binding& binding : block.bindings) {
        // A lambda may call itself: its variable comes first.
        const bool is_lambda = binding.value->kind == ExprKind::kFunction;
        Variable var = is_lambda ? fresh(binding.var) : nullptr;
        Expr value = expr(binding.value);
        if (!is_lambda) var = fresh(binding.var);
        own.bindings.push_back(
            {std::move(var), std::move(value), annotation(binding.match_cast), binding.origin});
      }
      blocks.push_back(std::move(own));
    }
    return make_seq(std::move(blocks), expr(seq.result));
  }

  const SymbolMap& f_;
  std::map<const VarNode*, Expr> vars_;
};

}  // namespace

Annotation map_symbols(const Annotation& annotation, const SymbolMap& f) {
  if (const auto* prim = as_prim(annotation)) {
    return prim->value ? prim_annotation(prim->dtype, f(prim->value)) : annotation;
  }
  if (const auto* shape = as_shape(annotation)) {
    return shape->dims ? shape_annotation(map_dims(*shape->dims, f)) : annotation;
  }
  if (const auto* tensor = as_tensor(annotation)) {
    return tensor->shape ? tensor_annotation(map_dims(*tensor->shape, f), tensor->dtype)
                         : annotation;
  }
  auto list = [&](const std::vector<Annotation>& annotations) {
    std::vector<Annotation> result;
    for (const Annotation& a : annotations) result.push_back(map_symbols(a, f));
    return result;
  };
  if (const auto* tuple = as_tuple(annotation)) return tuple_annotation(list(tuple->fields));
  if (const auto* callable = as_callable(annotation)) {
    return callable_annotation(list(callable->params), map_symbols(callable->result, f),
                               callable->pure);
  }
  return annotation;
}

FunctionRef map_symbols(const Function& function, const SymbolMap& f) {
  return Mapper(f).function(function);
}

}  // namespace tapml::relax
