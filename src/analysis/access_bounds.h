// Whether a tensor program stays inside its buffers: every index of every access is between 0 and
// the buffer's dimension, for all values of its scalars that its parameters' shapes allow.
#pragma once

#include <string>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::analysis {

// An access that is not proved to be inside its buffer.
struct UnprovedAccess {
  const void* statement = nullptr;  // the innermost one around it
  std::string access;               // "x[i + 100]"
  size_t dimension = 0;             // of the buffer
  std::string index;                // possible values of the index: "100 to 103", "at least n"
  std::string last;                 // the last valid index: the dimension minus 1
  // Whether it is outside in some iteration of the loops around it, if these run at all.
  bool outside = false;
};

// The unproved accesses of `func` in program order, one per access. Data that is used as an index
// may be any value of its type, within what enclosing conditions, min and max allow.
std::vector<UnprovedAccess> unproved_accesses(const tir::PrimFunc& func);

}  // namespace tapml::analysis
