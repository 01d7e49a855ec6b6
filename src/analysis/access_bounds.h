// Whether a tensor program stays inside of its buffers: every index of every access between 0 and
// the buffer's dimension, for all values of its scalars that its parameters' shapes can have.
#pragma once

#include <string>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::analysis {

// An access that is not proved to lie inside of its buffer.
struct UnprovedAccess {
  const void* statement = nullptr;  // the innermost one around it
  std::string access;               // "x[i + 100]"
  size_t dimension = 0;             // of the buffer
  std::string index;                // what the index can be: "100 to 103", "at least n"
  std::string last;                 // that it may be: the dimension less 1
  // It is outside whenever the loops around it run at all, or in one of their iterations.
  bool outside = false;
};

// Those of `func`, in its order, one for each access. Data that serves as an index counts for any
// value of its type, but for what conditions, min and max around it say.
std::vector<UnprovedAccess> unproved_accesses(const tir::PrimFunc& func);

}  // namespace tapml::analysis
