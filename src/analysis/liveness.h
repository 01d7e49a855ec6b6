// Live ranges of the outputs of kernel calls, or of the tensors of a memory plan, through branches,
// nested sequences, tuples, views and calls.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::analysis {

// Memory that one output of a kernel call needs, or a tensor that a plan allocates. Positions count
// the bindings of a function body in order; bindings in branches and nested sequences come before
// the binding that contains them.
struct Allocation {
  const relax::VarNode* owner = nullptr;  // the variable that the call is bound to
  size_t output = 0;                      // of the call
  int64_t first = 0;                      // position of the call
  int64_t last = 0;                       // of the last use, through any alias
  bool escapes = false;  // something that outlives the call of the function may use it
  bool nested = false;   // is in a branch or a nested sequence
};

// Tensors of a call_tir_dps: inputs, outputs, then the storage or tensor of its workspace, if any.
std::vector<relax::Expr> planned_tensors(const relax::CallNode& call);

// A kernel call as planning sees it; the arguments of a planned call are planned_tensors().
struct KernelUse {
  int64_t position = 0;
  // For each tensor argument, the allocations that it may be. `whole`: it covers one of them
  // completely, so that element i of one is element i of the other in row-major order.
  struct Argument {
    std::vector<int32_t> allocations;
    bool whole = true;
  };
  std::vector<Argument> args;
};

struct Liveness {
  std::vector<Allocation> allocations;                                      // by position
  std::unordered_map<const relax::VarNode*, std::vector<int32_t>> outputs;  // of calls, by variable
  std::unordered_map<const relax::VarNode*, KernelUse> calls;               // by the variable
  int64_t end = 0;  // one past the last position
};

// Whether a call of this callee may keep its arguments after it returns.
using Keeps = std::function<bool(const relax::Expr& callee)>;

// Analyzes a function body in A-normal form. The result of a call of anything but a kernel may be
// any of its arguments, unless its annotation excludes tensors; if that amounts to hundreds of
// allocations, they are assumed to be needed to the end.
Liveness find_liveness(const relax::Function& function, const Keeps& keeps);

// Functions of the module that may pass an argument to something that keeps it: a packed function,
// or an unknown function value.
std::set<std::string> functions_that_keep(const Module& module);

}  // namespace tapml::analysis
