// Introduces symbolic shapes where deduction leaves shapes open.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Operators and tensor programs compute on tensors of known shape. Walks every function forward:
// - an operand with only rank and dtype known, a shape of known rank and a host integer get a
//   match_cast to fresh symbolic variables;
// - variables take the annotations that follow, here and in all later uses;
// - where two symbolic dimensions broadcast and neither is provably 1 or equal to the other, an if
//   decides at run time whether they are equal or which one is 1; if they do not broadcast, the
//   program ends with a UserError that names the operand, the operator and the binding. The
//   enclosing dataflow block is split there, since an if is control flow.
Module name_shapes(const Module& module);

}  // namespace tapml::passes
