// Where the elements of a tensor program share random errors, so that these do not average out.
#pragma once

#include <set>

#include "tir/prim_func.h"

namespace tapml::interp {

// How often the float `part` enters the value of `expr`, at most: conditions do not count, and of
// the sides of a select, one does.
int uses(const PrimExpr& expr, const PrimExpr& part);

// The loads of floats that load an element repeatedly, for several results or several terms of one:
// those in a loop that neither moves the index nor stores the buffer, as that of a row's norm, and
// several of one element in one expression.
std::set<const ExprNode*> shared_loads(const tir::PrimFunc& func);

// Whether an element is computed from another element of its own buffer, as in running sums, or
// from a state that steps of a loop carry on, as in scans.
bool has_recurrence(const tir::PrimFunc& func);

}  // namespace tapml::interp
