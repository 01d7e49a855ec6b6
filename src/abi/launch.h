// How an implementation runs on a device: an ordered list of device-kernel launches.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "abi/scalar_program.h"

namespace tapml {

// A value over the scalars that the launcher rejects above `most`: arithmetic on it in the kernel
// would overflow, or the kernel has no more segments.
struct LaunchLimit {
  ScalarProgram value;
  int64_t most = 0;
  std::string what;  // for messages: "number of elements of x"
};

// Shared buffers of symbolic size that a launch may have.
inline constexpr size_t kMostSharedBuffers = 8;

// A shared buffer whose size depends on the scalars.
struct SharedBufferInfo {
  ScalarProgram elements;
  int64_t element_bytes = 1;
};

// The size of such a buffer in one launch.
struct SharedSize {
  int64_t elements = 0;
  int64_t bytes = 0;
};

// Work groups in the second and third dimension of a grid.
using GridRest = std::array<int64_t, 2>;

// One device kernel. `extent` is the number of independent work items (iterations of the outermost
// parallel loop) over the implementation's scalars. On cpu the kernel is called with ranges [begin,
// end) that partition it; on GPU-like platforms the kernel is grid-stride, so any number of work
// groups is correct and `extent` only helps to choose a good one.
//
// A grid has up to three dimensions, one for each of the nested loops over work groups, the
// outermost first (get_group_id(0), gl_WorkGroupID.x). `extent` belongs to the first one. The
// kernel strides over each dimension, too.
struct LaunchInfo {
  std::string entry;                // symbol in the module
  ScalarProgram extent;             // work items; 0 launches nothing
  int64_t workgroup_threads = 1;    // local size (GPU-like platforms)
  std::vector<int32_t> buffers;     // indices into the implementation's parameters
  std::vector<int32_t> scalars;     // indices into the implementation's scalars
  std::vector<LaunchLimit> limits;  // assumptions of its code
  // Empty: always launched; else launched only if the value is not negative. An implementation may
  // have different launches for small and for large tensors.
  ScalarProgram when;
  // Fills prepared scratch: runs once at load if the tensors that it reads are weights, else with
  // every call. It reads `in` parameters, writes prepared scratch and depends on no scalars.
  bool prepares = false;
  // Work groups in the second and third dimension; empty for a grid of one dimension.
  std::vector<ScalarProgram> grid;
  // In the order in which the kernel takes them.
  std::vector<SharedBufferInfo> shared;
};

}  // namespace tapml
