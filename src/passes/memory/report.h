// The memory that planned functions need, by storage and by tensor.
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
  bool is_static = false;  // allocated at load, shared with other functions
  std::vector<PlannedTensor> tensors;
};

struct FunctionMemory {
  std::string name;
  std::vector<PlannedStorage> storages;
  std::vector<std::string> callees;
  // The most that a call has allocated at one time, excluding its arguments and memory that packed
  // functions keep internally: allocations at load, its own storages, and those of the functions
  // that it calls. Null where it is unknown, as for recursive functions that continue after the
  // call.
  PrimExpr peak;
  std::string why;    // why the peak is unknown
  bool exact = true;  // some call reaches the peak; else it is an upper bound
  // Bytes of its tensor arguments, such as weights and caches; null where one has no shape.
  PrimExpr arguments;
  // When it may be reached; bytes are those of the peak excluding allocations at load.
  std::vector<Moment> moments;
};

struct MemoryReport {
  int64_t constant_bytes = 0;             // uploaded at load
  int64_t static_bytes = 0;               // storages that are allocated at load
  std::vector<FunctionMemory> functions;  // by name
};

// Reports on a Module after plan_memory. Peaks are over the symbolic variables of each function.
MemoryReport memory_report(const Module& planned);

}  // namespace tapml::passes
