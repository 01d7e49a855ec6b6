// A tensor program: destination passing over buffers, with explicit symbolic scalars.
#pragma once

#include "abi/access.h"
#include "ir/module.h"
#include "tir/requirements.h"
#include "tir/stmt.h"

namespace tapml::tir {

struct Param {
  Buffer buffer;
  AccessMode mode = AccessMode::kIn;
};

// Scalars are i64 variables: every symbolic variable that shapes or the body use is listed, in
// order of first occurrence in the buffers' shapes, then the ones that only the body uses.
//
// The body is a statement; its top level (below allocs of global scope, which are workspaces) is a
// sequence of loop nests that run one after the other. Each nest becomes one launch: its outermost
// loop is the launch's extent when parallel.
struct PrimFunc : BaseFunction {
  PrimFunc() : BaseFunction(FunctionLevel::kTir) {}
  std::vector<Param> params;
  std::vector<Var> scalars;
  // Set when a kernel is lowered for a target; before that, callers inspect the loops.
  std::optional<Requirements> requirements;
  Stmt body;
};
using PrimFuncRef = std::shared_ptr<const PrimFunc>;

// `scalars` computed from the parameters' shapes and the body by the rule above.
PrimFuncRef make_prim_func(std::vector<Param> params, Stmt body, AttrMap attrs = {});

const PrimFunc* as_prim_func(const BaseFunction* function);  // null when it is not one

}  // namespace tapml::tir
