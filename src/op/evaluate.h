// Evaluates the reference of an operator.
#pragma once

#include <span>

#include "op/operator.h"

namespace tapml::op {

// Calls the operator's reference rule, and applies what holds for every rule: results of exact
// operands that are NaN or infinite are certain, unless the rule leaves them open (Error::open);
// of operands whose elements share errors, a rule sees only the bounds.
void evaluate(const OperatorInfo& info, const AttrMap& attrs, std::span<const RefArg> args,
              std::span<RefTensor> outputs);

}  // namespace tapml::op
