// Which operand of a call must look how where deduction cannot decide whether the operands fit each
// other.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "op/operator.h"

namespace tapml::op {

// A tensor operand of a call.
struct Operand {
  const OperatorInfo& info;
  size_t argument = 0;  // its number
  int field = -1;       // of a tuple of tensors
  relax::Expr value;

  std::string argument_name() const;  // "b"
  std::string name() const;           // "b", "xs[1]"
};

// What stands for an operand once it is checked to be `expected`, a respelling of its annotation.
using CheckOperand =
    std::function<relax::Expr(const Operand& operand, const relax::Annotation& expected)>;

// Holds an integer of a call, `open.b`, to another, `open.a`.
using CheckInteger = std::function<void(const OperatorInfo& info, const OpenEquality& open)>;

// The call whose operands provably agree where they must. Deduction tells which integers have to be
// equal and may differ. Where an operand has one of them as a dimension, `check` is called for it,
// with the other in its place; else `check_integer`.
relax::Expr check_operands(const relax::Expr& call, const CheckOperand& check,
                           const CheckInteger& check_integer);

// Two dimensions of operands that broadcast if they are equal or one is 1, which nobody can say.
struct BroadcastPair {
  size_t first = 0, second = 0;  // arguments
  PrimExpr a, b;                 // their dimensions
};

// Those of a call whose result therefore has no known shape, in order.
std::vector<BroadcastPair> open_broadcasts(const relax::CallNode& call);

// A tensor's annotation with the dimensions that are `dim` said as `instead`; null where it has
// none.
relax::Annotation respelled(const relax::Annotation& from, const PrimExpr& dim,
                            const PrimExpr& instead);

}  // namespace tapml::op
