// Capabilities of a platform: limits and features, queried from the device or described by target/.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "tensor/dtype.h"

namespace tapml {

struct Limits {
  int64_t max_workgroup_threads = 1;
  int64_t max_local_memory = 0;      // bytes
  int64_t max_binding_bytes = 0;     // of one buffer argument; 0: unlimited or unknown
  int64_t max_allocation_bytes = 0;  // of one buffer; 0: unlimited or unknown
  int64_t max_bindings = 0;          // buffers per kernel; 0: unlimited or unknown
  int64_t buffer_alignment = 1;      // bytes; kernel arguments begin at multiples of it
  int64_t threads = 1;               // parallel host threads (cpu) or compute units
  int64_t subgroup_width = 0;        // that kernels may rely on, with full subgroups; 0: unknown
};

struct Features {
  std::set<DType> storage_dtypes;  // types with loads and stores
  std::set<DType> compute_dtypes;  // types with arithmetic
  bool narrow_stores = true;       // supports stores below 32 bits
  bool local_memory = false;
  bool subgroups = false;
};

// The device that runs kernels.
enum class DeviceKind : uint8_t { kUnknown, kProcessor, kGpu };

struct DeviceInfo {
  std::string platform;  // "cpu", "opencl", "null", ...
  std::string name;      // as the driver reports it
  std::string version;
  DeviceKind kind = DeviceKind::kUnknown;
  // For devices that run machine code: the processor architecture, as in "x86-64", and its features
  // beyond the baseline, as in "+avx2,+fma". Empty for others.
  std::string cpu;
  std::string cpu_features;
  Limits limits;
  Features features;
};

}  // namespace tapml
