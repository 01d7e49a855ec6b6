// What a platform can do: limits and features, as queried from the device or described by target/.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tensor/dtype.h"

namespace tapml {

struct Limits {
  int64_t max_workgroup_threads = 1;
  int64_t max_local_memory = 0;      // bytes
  int64_t max_binding_bytes = 0;     // one buffer argument; 0: no limit known
  int64_t max_allocation_bytes = 0;  // one buffer; 0: no limit known
  int64_t max_bindings = 0;          // buffers a kernel may take; 0: no limit known
  int64_t buffer_alignment = 1;      // bytes: a kernel's arguments begin at multiples of it
  int64_t threads = 1;               // parallel host threads (cpu) or compute units
  int64_t subgroup_width = 0;        // that kernels may rely on, with full subgroups; 0: none known
};

struct Features {
  std::set<DType> storage_dtypes;  // loads and stores
  std::set<DType> compute_dtypes;  // arithmetic
  bool narrow_stores = true;       // stores below 32 bits
  bool local_memory = false;
  bool subgroups = false;
};

// What runs a device's kernels.
enum class DeviceKind : uint8_t { kUnknown, kProcessor, kGpu };

struct DeviceInfo {
  std::string platform;  // "cpu", "opencl", "null", ...
  std::string name;      // as the driver says it
  std::string version;
  DeviceKind kind = DeviceKind::kUnknown;
  // Of what runs machine code: its processor's architecture, as in "x86-64", and what it has above
  // the baseline, as in "+avx2,+fma". Empty elsewhere.
  std::string cpu;
  std::string cpu_features;
  Limits limits;
  Features features;
};

}  // namespace tapml
