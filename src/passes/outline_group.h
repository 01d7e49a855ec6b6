// Cutting a group of bindings out of a dataflow block, for what is to become one kernel.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Attribute of a function whose calls are to become one kernel.
inline constexpr const char* kFusedAttr = "fused";

// Operands that come from outside of the group, in order of first use: distinct tensor variables,
// and every constant where it stands (it has no variable to go by). Null among them: an operand
// that no function could take as a parameter, a tuple or a tensor of unknown shape.
std::vector<relax::Expr> group_inputs(const relax::Block& block,
                                      const std::vector<size_t>& members);

// Adds a function with attribute "fused" that does what the bindings `members` (numbers, in order)
// do, calls of kernels or of operators, and returns the last one's binding with a call of it.
// Symbolic variables that no dimension of its tensors is are passed as an extra Shape argument.
// Origins are merged. No input may be null, and nothing else may use the other members' variables.
// `groups` counts those of the module so far: names are numbered.
relax::Binding outline_group(Module& module, const relax::Block& block,
                             const std::vector<size_t>& members, int& groups);

}  // namespace tapml::passes
