// What planned functions need in memory, by storage and by tensor.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "passes/memory/peak.h"

namespace tapml::passes {

// A tensor, or the workspace of a kernel call, in planned storage.
struct PlannedTensor {
  std::string name;
  PrimExpr bytes;   // padded to 16
  PrimExpr offset;  // in its storage
};

struct PlannedStorage {
  std::string name;
  PrimExpr bytes;
  bool is_static = false;  // there from load on, shared with other functions
  std::vector<PlannedTensor> tensors;
};

struct FunctionMemory {
  std::string name;
  std::vector<PlannedStorage> storages;
  std::vector<std::string> callees;
  // The most that a call has allocated at one time, apart from its arguments and from what packed
  // functions keep for themselves: what is there from load on, its own storages, and those of the
  // functions that it calls. Null where it is not known, as for functions that call themselves and
  // go on afterwards.
  PrimExpr peak;
  std::string why;    // it is not known
  bool exact = true;  // some call needs as much; else none needs more
  // When it may be reached; bytes are those of the peak without what is there from load on.
  std::vector<Moment> moments;
};

struct MemoryReport {
  int64_t constant_bytes = 0;             // uploaded at load
  int64_t static_bytes = 0;               // storages that are there from load on
  std::vector<FunctionMemory> functions;  // by name
};

// Of a Module after plan_memory. Peaks are over the symbolic variables of each function.
MemoryReport memory_report(const Module& planned);

}  // namespace tapml::passes
