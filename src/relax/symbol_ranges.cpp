#include "relax/symbol_ranges.h"

#include <algorithm>

#include "ir/symbol.h"
#include "relax/solve.h"

namespace tapml::relax {

namespace {

struct Integers {
  std::vector<PrimExpr> all;
  std::vector<bool> dimension;  // of a tensor

  void add(const std::vector<PrimExpr>& dims, bool of_tensor) {
    for (const PrimExpr& dim : dims) {
      all.push_back(dim);
      dimension.push_back(of_tensor);
    }
  }

  void add(const Annotation& annotation) {
    if (!annotation) return;
    if (const auto* prim = as_prim(annotation)) {
      if (prim->value) add({prim->value}, false);
    } else if (const auto* shape = as_shape(annotation)) {
      if (shape->dims) add(*shape->dims, false);
    } else if (const auto* tensor = as_tensor(annotation)) {
      if (tensor->shape) add(*tensor->shape, true);
    } else if (const auto* tuple = as_tuple(annotation)) {
      for (const Annotation& field : tuple->fields) add(field);
    }
  }
};

}  // namespace

std::map<const tapml::ExprNode*, int64_t> least_values(const std::vector<Annotation>& annotations) {
  Integers integers;
  for (const Annotation& annotation : annotations) integers.add(annotation);
  std::map<const tapml::ExprNode*, int64_t> least;
  auto at_least = [&](const tapml::ExprNode* var, int64_t value) {
    auto [known, fresh] = least.emplace(var, value);
    if (!fresh) known->second = std::max(known->second, value);
  };
  bool any = false;
  for (size_t i = 0; i < integers.all.size(); ++i) {
    if (!integers.dimension[i]) continue;
    if (auto one = least_of_dimension(integers.all[i])) at_least(one->var.get(), one->least);
    any |= !integers.all[i].is_int() && !integers.all[i].is_var();
  }
  if (!any) return least;
  SymbolIds known;
  for (const SolvedSymbol& one : solve_symbols(integers.all, known)) {
    if (integers.dimension[one.integer]) at_least(one.symbol, 0);
  }
  return least;
}

void state_least_values(const std::vector<Var>& made, const std::vector<Annotation>& annotations) {
  if (made.empty()) return;
  const std::map<const tapml::ExprNode*, int64_t> least = least_values(annotations);
  for (const Var& var : made) {
    auto known = least.find(var.get());
    if (known != least.end()) state_least_value(var, known->second);
  }
}

std::vector<Annotation> annotations_of(const std::vector<Variable>& params) {
  std::vector<Annotation> annotations;
  for (const Variable& param : params) annotations.push_back(param->annotation);
  return annotations;
}

bool gives_sizes(const Expr& value) {
  const auto* call = as<CallNode>(value);
  const auto* op = call ? as<OperatorNode>(call->callee) : nullptr;
  return op && (op->name == "shape_of" || op->name == "tensor_to_shape");
}

Annotation as_sizes(const Annotation& annotation) {
  const auto* shape = as_shape(annotation);
  return shape && shape->dims ? tensor_annotation(*shape->dims, std::nullopt) : annotation;
}

}  // namespace tapml::relax
