#include "relax/solve.h"

#include "arith/analyzer.h"

namespace tapml::relax {

// The values at 0 and 1 determine the only possible linear expression; the prover then shows that
// it is equal. So no rule about the form of `expr` is needed.
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

std::vector<SolvedSymbol> solve_symbols(const std::vector<PrimExpr>& integers, SymbolIds& known) {
  std::vector<SolvedSymbol> solved;
  std::vector<size_t> open;
  for (size_t i = 0; i < integers.size(); ++i) {
    const PrimExpr& e = integers[i];
    if (!e || e.is_int()) continue;
    if (!e.is_var()) {
      open.push_back(i);
    } else if (known.insert(e.get()).second) {
      solved.push_back({e.get(), i});
    }
  }
  for (bool progress = true; progress;) {
    progress = false;
    for (size_t i : open) {
      const Var* unknown = nullptr;
      size_t count = 0;
      std::vector<Var> vars = free_vars(integers[i]);
      for (const Var& var : vars) {
        if (known.contains(var.get())) continue;
        unknown = &var;
        ++count;
      }
      if (count != 1 || !linear_in(integers[i], *unknown)) continue;
      known.insert(unknown->get());
      solved.push_back({unknown->get(), i});
      progress = true;
    }
  }
  return solved;
}

std::vector<const tapml::ExprNode*> bind_symbols(const std::vector<Annotation>& annotations,
                                                 SymbolIds& known) {
  std::vector<PrimExpr> integers;
  for (const Annotation& annotation : annotations) {
    if (annotation) collect_integers(annotation, integers);
  }
  std::vector<const tapml::ExprNode*> bound;
  for (const SolvedSymbol& one : solve_symbols(integers, known)) bound.push_back(one.symbol);
  return bound;
}

}  // namespace tapml::relax
