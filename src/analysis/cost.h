// How much a tensor program computes and moves: estimates over its scalars, for reports and for the
// order of a migration.
#pragma once

#include "tir/prim_func.h"

namespace tapml::analysis {

struct Cost {
  // Arithmetic on floats: one for an operation, a comparison, a min or max and a scalar function,
  // two for fma; casts, constants and index arithmetic are free. Both sides of a select and both
  // branches of an if count.
  PrimExpr flops;
  // Bytes of the parameters' elements that are read, once each, and of those that are written: one
  // for each value of the iterators in an access's indices, of a table that is gathered from only
  // the rows that are taken. At most all of a parameter.
  PrimExpr bytes;
  // False where data says which iterations there are: a loop's extent is read from memory, and
  // counts as one, or a condition holds an iterator against what was read (attention's mask).
  bool exact = true;
};

Cost cost_of(const tir::PrimFunc& func);

}  // namespace tapml::analysis
