#include "relax/solve.h"

#include "arith/analyzer.h"

namespace tapml::relax {

std::optional<LinearIn> linear_in(const PrimExpr& expr, const Var& var) {
  if (!is_integer(expr.dtype()) || var.dtype() != DType::kI64) return std::nullopt;
  arith::Analyzer analyzer;
  auto at = [&](int64_t value) {
    return tapml::substitute(expr, VarMap{{var.get(), PrimExpr(value)}});
  };
  PrimExpr offset = analyzer.simplify(at(0));
  std::optional<int64_t> factor = analyzer.as_constant(at(1) - offset);
  if (!factor || *factor == 0 || !analyzer.prove_equal(expr, var * *factor + offset)) {
    return std::nullopt;
  }
  return LinearIn{*factor, std::move(offset)};
}

namespace {

void collect_integers(const Annotation& annotation, std::vector<PrimExpr>& into) {
  if (const auto* prim = as_prim(annotation)) {
    if (prim->value) into.push_back(prim->value);
  } else if (const auto* shape = as_shape(annotation)) {
    if (shape->dims) into.insert(into.end(), shape->dims->begin(), shape->dims->end());
  } else if (const auto* tensor = as_tensor(annotation)) {
    if (tensor->shape) into.insert(into.end(), tensor->shape->begin(), tensor->shape->end());
  } else if (const auto* tuple = as_tuple(annotation)) {
    for (const Annotation& field : tuple->fields) collect_integers(field, into);
  }
}

}  // namespace

std::vector<const tapml::ExprNode*> bind_symbols(const std::vector<Annotation>& annotations,
                                                 SymbolIds& known) {
  std::vector<const tapml::ExprNode*> bound;
  auto bind = [&](const Var& var) {
    if (known.insert(var.get()).second) bound.push_back(var.get());
  };
  std::vector<PrimExpr> all, open;
  for (const Annotation& annotation : annotations) {
    if (annotation) collect_integers(annotation, all);
  }
  for (const PrimExpr& e : all) {
    if (!e) continue;
    if (e.is_var()) {
      bind(e);
    } else if (!e.is_int()) {
      open.push_back(e);
    }
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (const PrimExpr& e : open) {
      const Var* unknown = nullptr;
      size_t count = 0;
      std::vector<Var> vars = free_vars(e);
      for (const Var& var : vars) {
        if (known.contains(var.get())) continue;
        unknown = &var;
        ++count;
      }
      if (count != 1 || !linear_in(e, *unknown)) continue;
      bind(*unknown);
      progress = true;
    }
  }
  return bound;
}

}  // namespace tapml::relax
