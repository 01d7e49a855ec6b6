// How much a tensor program computes and moves: estimates over its scalars, for reports and for the
// choice between schedules.
#pragma once

#include "tir/prim_func.h"

namespace tapml::analysis {

struct Cost {
  // Arithmetic on floats: one for an operation, a comparison, a min or max and a scalar function,
  // two for fma; casts, constants and index arithmetic are free. Both sides of a select and both
  // branches of an if count.
  PrimExpr flops;
  // Bytes of the parameters, each read or written once; inout twice.
  PrimExpr bytes;
  // False where a loop's extent is read from memory: it counts as one iteration.
  bool exact = true;
};

Cost cost_of(const tir::PrimFunc& func);

}  // namespace tapml::analysis
