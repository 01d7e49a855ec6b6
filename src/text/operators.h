// Spelling and binding strength of the scalar operators.
#pragma once

#include <string_view>

#include "ir/expr.h"

namespace tapml::text {

struct InfixOperator {
  ExprKind kind;
  std::string_view symbol;
  int strength;  // higher binds tighter
  bool chains;   // a + b + c is (a + b) + c; comparisons do not chain
};

constexpr InfixOperator kInfixOperators[] = {
    {ExprKind::kOr, "or", 1, true},       {ExprKind::kAnd, "and", 2, true},
    {ExprKind::kEq, "==", 3, false},      {ExprKind::kNe, "!=", 3, false},
    {ExprKind::kLt, "<", 3, false},       {ExprKind::kLe, "<=", 3, false},
    {ExprKind::kAdd, "+", 4, true},       {ExprKind::kSub, "-", 4, true},
    {ExprKind::kMul, "*", 5, true},       {ExprKind::kDiv, "/", 5, true},
    {ExprKind::kFloorDiv, "//", 5, true}, {ExprKind::kFloorMod, "%", 5, true},
};

constexpr const InfixOperator* find_infix(ExprKind kind) {
  for (const InfixOperator& op : kInfixOperators) {
    if (op.kind == kind) return &op;
  }
  return nullptr;
}

constexpr const InfixOperator* find_infix(std::string_view symbol) {
  for (const InfixOperator& op : kInfixOperators) {
    if (op.symbol == symbol) return &op;
  }
  return nullptr;
}

}  // namespace tapml::text
