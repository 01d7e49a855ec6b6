// What planned functions need in memory, by storage and by tensor.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"

namespace tapml::passes {

// A tensor, or the workspace of a kernel call, in planned storage.
struct PlannedTensor {
  std::string name;
  PrimExpr bytes;  // padded to 16
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
  // The most that a call has allocated at one time, apart from its arguments: what is there from
  // load on, its own storages, and those of the functions that it calls. Exact where it calls none,
  // an upper bound where it does. Null for functions that call themselves, at whatever distance.
  PrimExpr peak;
};

struct MemoryReport {
  int64_t constant_bytes = 0;             // uploaded at load
  int64_t static_bytes = 0;               // storages that are there from load on
  std::vector<FunctionMemory> functions;  // by name
};

// Of a Module after plan_memory. Peaks are over the symbolic variables of each function.
MemoryReport memory_report(const Module& planned);

}  // namespace tapml::passes
