// Outlines a group of bindings of a dataflow block, to become one kernel.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Operands from outside the group, in order of first use: distinct tensor variables, and every
// occurrence of a constant (it has no variable that identifies it). A null entry is an operand that
// no function could take as a parameter: a tuple or a tensor of unknown shape.
std::vector<relax::Expr> group_inputs(const relax::Block& block,
                                      const std::vector<size_t>& members);

// Adds a function with attribute "fused" that performs the bindings `members` (indices, in order),
// calls of kernels or of operators, and returns the last one's binding with a call of it. Symbolic
// variables that are not a dimension of its tensors are passed as an extra Shape argument. Origins
// are merged. No input may be null, and nothing else may use the other members' variables. `groups`
// counts those of the module so far and numbers the names.
relax::Binding outline_group(Module& module, const relax::Block& block,
                             const std::vector<size_t>& members, int& groups);

}  // namespace tapml::passes
