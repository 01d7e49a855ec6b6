#include "build/block_builder.h"
#include "fuzz/language/language.h"

namespace tapml::fuzz {

using relax::Expr;
using relax::Variable;

PrimExpr LanguageGenerator::scalar(int64_t value, Scope& scope, bool bind) {
  if (!symbolic_) return value;
  auto known = scope.names.find(value);
  if (known != scope.names.end() && chance(0.8)) return known->second;
  for (const auto& [other, var] : scope.names) {
    if (chance(0.2)) return var + (value - other);
  }
  if (!bind || known != scope.names.end() || chance(0.2)) return value;
  Var var = symbol("k", value);
  scope.names.emplace(value, var);
  return var;
}

PrimExpr LanguageGenerator::index(const Scope& scope) {
  auto at = scope.names.begin();
  if (chance(0.5)) std::advance(at, below(scope.names.size()));  // the first is the least
  const PrimExpr var = at->second;
  const int64_t constant = rng_.between(-3, 3);
  switch (below(9)) {
    case 0:
      return var + constant;
    case 1:
      return constant - var;
    case 2:
      return var * 2 + constant;
    case 3:
      return floordiv(var + constant, 2);
    case 4:
      return floormod(var + constant, 3);
    case 5:
      return max(var, constant);
    case 6:
      return min(var, constant);
    case 7:
      return max(var, 0 - var) + constant;
    default:
      return var;
  }
}

// A slice of a tensor that host scalars select.
bool LanguageGenerator::cut(Scope& scope) {
  if (scope.names.empty()) return false;
  std::vector<const Known*> tensors;
  for (const auto* list : {&scope.values, &scope.hidden}) {
    for (const Known& known : *list) {
      const bool tensor = known.type && known.type->kind == Kind::kTensor;
      if (tensor && !known.type->dims.empty()) tensors.push_back(&known);
    }
  }
  if (tensors.empty()) return false;
  const Known known = *op::pick(tensors, rng_);
  const auto* var = relax::as<relax::VarNode>(known.value);
  const auto* tensor = var ? relax::as_tensor(var->annotation) : nullptr;
  if (!tensor || !tensor->shape || !tensor->dtype) return false;
  const size_t axis = below(known.type->dims.size());
  AttrMap attrs{{"axes", std::vector<int64_t>{static_cast<int64_t>(axis)}}};
  Expr value;
  if (known.type->dims[axis] > 0 && chance(0.4)) {
    const PrimExpr first = max(min(index(scope), (*tensor->shape)[axis] - 1), 0);
    value = relax::make_op_call(
        "slice", {known.value, relax::make_shape({first}), relax::make_shape({first + 1})}, attrs);
  } else {
    attrs["strides"] = std::vector<int64_t>{op::pick(std::vector<int64_t>{1, 1, 2, -1, -2}, rng_)};
    value = relax::make_op_call(
        "strided_slice",
        {known.value, relax::make_shape({index(scope)}), relax::make_shape({index(scope)})},
        std::move(attrs));
  }
  Variable part = bind(scope, value, "part");
  keep(scope, part, type_of(part->annotation));
  return true;
}

// A row of a tensor selected by a loop counter, which differs in each iteration.
void LanguageGenerator::take_turn(const PrimExpr& counter, Scope& scope) {
  for (const Known& known : scope.values) {
    const auto* var = relax::as<relax::VarNode>(known.value);
    const auto* tensor = var ? relax::as_tensor(var->annotation) : nullptr;
    if (!known.type || known.type->kind != Kind::kTensor || !tensor || !tensor->shape) continue;
    if (known.type->dims.empty() || known.type->dims[0] == 0 || chance(0.4)) continue;
    const PrimExpr& rows = tensor->shape->front();
    const PrimExpr first = chance(0.5) ? floormod(counter, rows) : max(min(counter, rows - 1), 0);
    Variable row =
        bind(scope,
             relax::make_op_call(
                 "slice", {known.value, relax::make_shape({first}), relax::make_shape({first + 1})},
                 {{"axes", std::vector<int64_t>{0}}}),
             "turn");
    keep(scope, row, type_of(row->annotation));
    return;
  }
}

}  // namespace tapml::fuzz
