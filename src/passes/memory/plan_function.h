// Decides the storages of one function and writes them into its body. For plan_memory.cpp.
#pragma once

#include "passes/memory/items.h"
#include "passes/plan_memory.h"
#include "relax/rewrite.h"

namespace tapml::passes {

class FunctionPlanner {
 public:
  // Everything must outlive this.
  FunctionPlanner(const Module& module, const relax::Function& function, const Bounds& bounds,
                  const PlanMemoryOptions& options, const analysis::Keeps& keeps);

  // Decides; may_be_static: whether storages may be allocated at load.
  void decide(bool may_be_static);
  size_t static_count() const { return static_count_; }
  // The function with its storages; static ones are numbered from `first_static`.
  relax::FunctionRef rewrite(size_t first_static);

 private:
  bool fixed_sizes();
  void number_static_storages();
  relax::Expr rewrite_seq(const relax::SeqNode& seq, bool top);
  relax::Expr rewrite_value(const relax::Expr& value);
  void rewrite_binding(const relax::Binding& source, bool top);
  void rewrite_call(const relax::Binding& binding, const relax::VarNode* owner);
  void allocate_storages(int64_t place, const relax::Binding& binding);
  void emit(relax::Variable var, relax::Expr value, const Origin& origin,
            const relax::Binding& binding);
  void emit_tensor(relax::Variable var, int32_t item, const Dims& dims, DType dtype,
                   const relax::Binding& binding);
  relax::Expr workspace(int32_t item, const relax::Binding& binding);

  const relax::Function& function_;
  const PlanMemoryOptions& options_;
  analysis::Liveness live_;
  FunctionItems needs_;

  bool static_ = false;
  std::vector<SharedStorage> storages_;
  struct Place {
    size_t storage = 0;
    int32_t offset = 0;  // of Sizes
  };
  std::vector<Place> place_of_;  // by item
  std::vector<int64_t> static_index_;
  size_t static_count_ = 0, first_static_ = 0;

  // Used by rewrite().
  int64_t position_ = 0;
  size_t next_storage_ = 0;
  std::vector<relax::Variable> storage_vars_;
  relax::Block out_;
  relax::ExprMap plain_;
};

}  // namespace tapml::passes
