// The memory that the kernel calls of a function need: outputs and workspaces.
#pragma once

#include <map>
#include <vector>

#include "analysis/liveness.h"
#include "ir/module.h"
#include "passes/memory/assign.h"
#include "relax/expr.h"
#include "relax/solve.h"
#include "tir/prim_func.h"

namespace tapml::passes {

// The tensor that is an output of a kernel. UserError where its shape or dtype is unknown.
const relax::TensorAnnotation& known_tensor(const relax::Annotation& annotation);

// Bytes of the workspace that a call_tir takes from its caller; null: none.
PrimExpr workspace_bytes(const relax::CallNode& call);

class FunctionItems {
 public:
  // Everything must outlive this. `in_place`: outputs may take over the storage of an input.
  FunctionItems(const Module& module, const relax::Function& function, const Bounds& bounds,
                const analysis::Liveness& live, bool in_place);

  std::vector<MemoryItem>& items() { return items_; }
  Sizes& sizes() { return sizes_; }
  // The item of an allocation; several share one where a kernel works in place.
  int32_t of_allocation(int32_t allocation) const {
    return item_of_[static_cast<size_t>(allocation)];
  }
  // The item of the workspace of the call that is bound to `owner`; -1: no workspace.
  int32_t of_workspace(const relax::VarNode* owner) const;
  // Those of the given bounds that are checked in the function: their variables have values in it.
  const Bounds& bounds_used() const { return bounds_used_; }

 private:
  void define(const relax::Annotation& annotation, int64_t place);
  void bind(const std::vector<relax::Annotation>& annotations);
  int64_t known(const PrimExpr& bytes) const;
  void collect(const relax::SeqNode& seq, int64_t outer);
  void collect_call(const relax::Binding& binding, int64_t outer);
  const PrimExpr& bytes_of(const relax::TensorAnnotation& tensor);
  int32_t add_item(int32_t size, int64_t first, int64_t last, int64_t outer);
  int32_t in_place(const relax::CallNode& call, const relax::VarNode* owner,
                   const analysis::Allocation& output, int32_t size);
  bool shares_in_place(const tir::PrimFunc& func, size_t input);

  const Module& module_;
  const Bounds& bounds_;
  const analysis::Liveness& live_;
  const bool may_be_in_place_;
  relax::SymbolIds symbols_;  // variables that have a value
  VarBounds var_bounds_;
  Bounds bounds_used_;
  Sizes sizes_;
  std::map<const tapml::ExprNode*, int64_t>
      known_;  // position where a symbolic variable has a value
  std::vector<MemoryItem> items_;
  std::vector<int32_t> item_of_;  // by allocation
  std::map<const relax::VarNode*, int32_t> workspace_of_;
  std::map<const relax::TensorAnnotation*, PrimExpr> bytes_by_annotation_;
  std::map<std::pair<const tir::PrimFunc*, size_t>, bool> in_place_;
  int64_t position_ = 0;
};

}  // namespace tapml::passes
