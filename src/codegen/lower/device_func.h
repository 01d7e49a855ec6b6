// The last form before code: one function a launch, no blocks, flat control flow.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tir/prim_func.h"

namespace tapml::codegen {

// A value over the scalars that must not be above `most` where the launch is to be right.
struct IndexLimit {
  PrimExpr value;
  int64_t most = 0;
  std::string what;  // for messages: "the elements of x"
};

// One device kernel. `buffers` are the parameters of the implementation that it touches, in the
// order of `buffer_indices` (kernel parameters first, then workspaces); `scalars` likewise.
// The body runs once for every `item` in [0, extent), in any order and in parallel.
struct DeviceFunc {
  std::string entry;
  std::vector<tir::Param> buffers;
  std::vector<int32_t> buffer_indices;
  std::vector<Var> scalars;
  std::vector<int32_t> scalar_indices;
  // Of each scalar, by the dimensions of the whole program's parameters; nothing where it may be
  // any number.
  std::vector<std::optional<int64_t>> least;
  Var item;
  PrimExpr extent;
  // GPU-like platforms: > 1 and `thread` set where the item is a work group and its invocations
  // share memory; else the invocations stride over the items.
  int64_t workgroup_threads = 1;
  Var thread;  // null unless items are work groups
  // Values of the item that the body has names for (name_coordinates).
  std::vector<std::pair<Var, PrimExpr>> coordinates;
  std::vector<Var> positive;  // scalars known to be above 0, beside the factors of `extent`
  tir::Stmt body;
  // Type of index arithmetic: i64, or i32 (narrow_index) under `limits`. `scalars` and the shapes
  // of `buffers` are of it; `extent` is the host's.
  DType index = DType::kI64;
  std::vector<IndexLimit> limits;
  // Callers may hand it an output that lies exactly where an input lies: each element is read, for
  // the element of its own place, before that is written.
  bool may_alias = false;

  // Invocations that the launch asks for, what the kernel is reported as its extent: items, or the
  // threads of all groups.
  PrimExpr invocations() const { return thread ? extent * workgroup_threads : extent; }
};

// A scheduled implementation taken apart: its workspaces and its launches in order.
struct LoweredKernel {
  std::vector<tir::Buffer> workspaces;
  std::vector<DeviceFunc> launches;
};

// Replaces blocks by their bodies (iterators by bindings, predicates and inits by conditions),
// lifts top-level global allocations to workspaces and cuts the top-level sequence into launches
// named `<prefix>_<n>`. InternalError for a global allocation below the top level.
LoweredKernel lower_prim_func(const tir::PrimFunc& func, const std::string& prefix);

}  // namespace tapml::codegen
