// What the allowances of a platform mean for comparisons with the reference (docs/verdicts.md).
#pragma once

#include <string>
#include <vector>

#include "abi/allowances.h"
#include "ir/module.h"
#include "op/product_rounding.h"
#include "relax/expr.h"

namespace tapml::topdown {

// In the order in which a verdict tries them: each allowance alone, then all together.
std::vector<Allowances> allowances_to_try(const Allowances& allowances);

// Whether a kernel with these allowances may round its products like this.
bool covers(const Allowances& allowances, const op::ProductRounding& products);

// The roundings with the largest errors that these allowances permit, and those that the program
// itself specifies.
op::ProductRounding emulation_of(const Allowances& allowances);

// Whether an operator accumulates in f16 by its attribute.
bool specifies_half_sums(const relax::Function& function);
bool specifies_half_sums(const Module& module);
// Whether a function quantizes activations.
bool quantizes_activations(const Module& module);

// The allowances of a target's text; none for a source that is no target of tapml.
Allowances allowances_of(const std::string& target);

}  // namespace tapml::topdown
