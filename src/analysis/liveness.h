// How long the outputs of kernel calls, or the tensors of a memory plan, are needed, through
// branches, nested sequences, tuples, views and calls.
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
// the bindings of a function body in order, what stands in branches and nested sequences before the
// binding that holds it.
struct Allocation {
  const relax::VarNode* owner = nullptr;  // the variable that the call is bound to
  size_t output = 0;                      // of the call
  int64_t first = 0;                      // position of the call
  int64_t last = 0;                       // of the last use, through whatever name
  bool escapes = false;  // something that outlives the call of the function may look at it
  bool nested = false;   // stands in a branch or a nested sequence
};

// Of call_tir_dps: inputs, outputs, then the storage or tensor of its workspace where it has one.
std::vector<relax::Expr> planned_tensors(const relax::CallNode& call);

// A kernel call as planning sees it; of a planned one the arguments are planned_tensors().
struct KernelUse {
  int64_t position = 0;
  // For each tensor argument, the allocations that it may be; `whole`: it is one of them from its
  // first byte to its last, so that element i of one is element i of the other in row-major order.
  struct Argument {
    std::vector<int32_t> allocations;
    bool whole = true;
  };
  std::vector<Argument> args;
};

struct Liveness {
  std::vector<Allocation> allocations;  // by position
  std::unordered_map<const relax::VarNode*, std::vector<int32_t>>
      outputs;                                                 // of a call, by its variable
  std::unordered_map<const relax::VarNode*, KernelUse> calls;  // by the variable
  int64_t end = 0;                                             // one past the last position
};

// Whether a call of this callee may keep its arguments for longer than the call lasts.
using Keeps = std::function<bool(const relax::Expr& callee)>;

// Of a function body in A-normal form. What a call of anything but a kernel gives may be any of its
// arguments, unless its annotation says that it is no tensor; what adds up to hundreds of
// allocations in that way is taken to look at them to the end.
Liveness find_liveness(const relax::Function& function, const Keeps& keeps);

// Functions of the module that may hand an argument to something that keeps it: a packed function,
// or a function value of which nothing is known.
std::set<std::string> functions_that_keep(const Module& module);

}  // namespace tapml::analysis
