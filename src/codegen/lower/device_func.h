// The final form before code generation: one function for each launch, no blocks, flat control
// flow.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::codegen {

// A value over the scalars that must not exceed `most` for the launch to be correct.
struct IndexLimit {
  PrimExpr value;
  int64_t most = 0;
  std::string what;  // for messages: "the elements of x"
};

// One device kernel. `buffers` are the implementation's parameters that it uses, in the order of
// `buffer_indices` (kernel parameters first, then workspaces); `scalars` likewise. The body runs
// once for every `item` in [0, extent), in any order and in parallel.
struct DeviceFunc {
  std::string entry;
  std::vector<tir::Param> buffers;
  std::vector<int32_t> buffer_indices;
  std::vector<Var> scalars;
  std::vector<int32_t> scalar_indices;
  // Lower bound of each scalar, derived from the dimensions of the whole program's parameters;
  // nullopt if unbounded.
  std::vector<std::optional<int64_t>> least;
  Var item;
  PrimExpr extent;
  // GPU-like platforms: if the item is a work group whose invocations share memory, this is > 1 and
  // `thread` is set; otherwise the invocations stride over the items.
  int64_t workgroup_threads = 1;
  Var thread;  // null unless items are work groups
  // Work groups in the second and third dimension of the grid: the extents of the work-group loops
  // that the body begins with, over the host's scalars.
  std::vector<PrimExpr> grid;
  // Shared buffers whose size depends on scalars, in the order of their allocations in the body.
  struct SharedBuffer {
    PrimExpr elements;  // over the host's scalars
    DType dtype = DType::kF32;
  };
  std::vector<SharedBuffer> shared;
  // Functions of the item that the body refers to by name (name_coordinates).
  std::vector<std::pair<Var, PrimExpr>> coordinates;
  std::vector<Var> positive;  // scalars known to be positive, besides the factors of `extent`
  tir::Stmt body;
  // Type of index arithmetic: i64, or i32 (narrow_index) under `limits`. `scalars` and the shapes
  // of `buffers` have this type; `extent` has the host's.
  DType index = DType::kI64;
  std::vector<IndexLimit> limits;
  // Whether an output may exactly alias an input: each input element is read only to compute the
  // output element at the same position, before that is written.
  bool may_alias = false;

  // Number of invocations of the launch, passed to the kernel as its extent: items, or the threads
  // of all groups.
  PrimExpr invocations() const { return thread ? extent * workgroup_threads : extent; }
};

// Bytes of an element in shared memory: code holds narrow types in words there.
int64_t shared_element_bytes(DType dtype);

// A scheduled implementation split into its workspaces and its launches, in order.
struct LoweredKernel {
  std::vector<tir::Buffer> workspaces;
  std::vector<DeviceFunc> launches;
};

// Replaces blocks by their bodies (iterators by bindings, predicates and inits by conditions),
// lifts top-level global allocations to workspaces, and splits the top-level sequence into launches
// named `<prefix>_<n>`. InternalError for a global allocation below the top level.
LoweredKernel lower_prim_func(const tir::PrimFunc& func, const std::string& prefix);

}  // namespace tapml::codegen
