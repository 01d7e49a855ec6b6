// Hash of scalar expressions, for tables that live within one run.
#pragma once

#include <functional>

#include "ir/expr.h"

namespace tapml {

// Expressions that are same_expr() hash equal. Variables and buffers hash by address, so the value
// must never determine an order.
inline size_t hash_expr(const PrimExpr& e) {
  if (e.is_var()) return std::hash<const void*>()(e.get());
  size_t hash = static_cast<size_t>(e.kind());
  auto add = [&hash](size_t value) {
    hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  };
  add(static_cast<size_t>(e.dtype()));
  add(static_cast<size_t>(e->int_value));
  if (e.kind() == ExprKind::kFloat) add(std::hash<double>()(e->float_value));
  if (!e->name.empty()) add(std::hash<std::string>()(e->name));
  if (e->object) add(std::hash<const void*>()(e->object.get()));
  for (const PrimExpr& operand : e->operands) add(hash_expr(operand));
  return hash;
}

}  // namespace tapml
