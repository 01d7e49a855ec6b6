// Estimates of how much a tensor program computes and moves, over its scalars, for reports and for
// the order of a migration.
#pragma once

#include "tir/prim_func.h"

namespace tapml::analysis {

struct Cost {
  // Arithmetic on floats: one for an operation, a comparison, a min or max and a scalar function,
  // two for fma; casts, constants and index arithmetic are free. Both sides of a select and both
  // branches of an if count.
  PrimExpr flops;
  // Bytes of the parameters' elements that are read and of those that are written, once each: one
  // element for each value of the iterators in an access's indices. Gathering from a table counts
  // only the gathered rows. At most the size of the parameter.
  PrimExpr bytes;
  // False if data determines the iterations: a loop's extent is read from memory (it then counts as
  // one), or a condition compares an iterator with data (attention's mask).
  bool exact = true;
};

Cost cost_of(const tir::PrimFunc& func);

}  // namespace tapml::analysis
