// Symbolic shapes for what deduction leaves open.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Operators and tensor programs compute on tensors of known shape. Forward through every function:
// - an operand of known rank and dtype alone, a shape of known rank and a host integer get a
//   match_cast to fresh symbolic variables;
// - variables take the annotations that then follow, and keep them in everything behind;
// - where two symbolic dimensions broadcast and none is provably 1 or the other, an if decides at
//   run time whether they are equal or which one is 1; that they do not broadcast ends the program
//   with a UserError that names the operand, the operator and the binding. The dataflow block
//   around it is cut there, since an if is control flow.
Module name_shapes(const Module& module);

}  // namespace tapml::passes
