// Which checks the operands of a call need if deduction cannot decide whether they fit each other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "op/operator.h"

namespace tapml::op {

// A tensor operand of a call.
struct Operand {
  const OperatorInfo& info;
  size_t argument = 0;  // its index
  int field = -1;       // of a tuple of tensors
  relax::Expr value;

  std::string argument_name() const;  // "b"
  std::string name() const;           // "b", "xs[1]"
};

// Returns the replacement of an operand that is checked to have annotation `expected`, its
// annotation with another expression.
using CheckOperand =
    std::function<relax::Expr(const Operand& operand, const relax::Annotation& expected)>;

// Checks that `open.b`, an integer of a call, equals `open.a`.
using CheckInteger = std::function<void(const OperatorInfo& info, const OpenEquality& open)>;

// Returns the call with operands that provably agree. Deduction finds the integers that must be
// equal but may differ. If an operand has one of them as a dimension, calls `check` for it with the
// other in its place; else calls `check_integer`.
relax::Expr check_operands(const relax::Expr& call, const CheckOperand& check,
                           const CheckInteger& check_integer);

// Two dimensions of operands that broadcast if they are equal or one is 1, which cannot be decided.
struct BroadcastPair {
  size_t first = 0, second = 0;  // arguments
  PrimExpr a, b;                 // their dimensions
};

// The undecided pairs of a call, in order; because of them its result has no known shape.
std::vector<BroadcastPair> open_broadcasts(const relax::CallNode& call);

// A tensor's annotation with dimensions `dim` replaced by `instead`; null if it has none.
relax::Annotation respelled(const relax::Annotation& from, const PrimExpr& dim,
                            const PrimExpr& instead);

}  // namespace tapml::op
