// Tracks views: which variables may hold non-contiguous tensors.
#pragma once

#include <set>
#include <string>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::passes {

// Follows tuples, branches, and calls of functions and function values, over the whole module.
// Callers outside the module pass tensors, not views.
class ViewFlow {
 public:
  explicit ViewFlow(const Module& module);

  // Whether the variable, or a field of it, may be such a view.
  bool may_be_view(const relax::VarNode* var) const { return views_.contains(var); }
  // Whether code in the module calls the function or holds it as a value.
  bool is_used(const std::string& function) const { return used_.contains(function); }

 private:
  bool sequence(const relax::SeqNode& seq);
  bool value(const relax::Expr& expr);
  bool call(const relax::CallNode& call);
  bool call_function(const relax::CallNode& call, const std::string& name);
  bool storage_view(const relax::CallNode& call);
  bool updated(const relax::CallNode& call);
  void as_value(const relax::Function& lambda, bool result_may_be_view);
  void as_value(const relax::Function& function, const std::string& name);
  bool mark(const relax::VarNode* var);  // true if it was not marked before

  const Module& module_;
  std::set<const relax::VarNode*> views_;
  std::set<std::string> results_;  // functions that may return a view
  std::set<std::string> used_;
  bool values_take_ = false, values_give_ = false;  // of function values
  bool changed_ = false;                            // by the current function
  std::set<std::string> pending_;                   // functions to visit (again)
};

// Whether a part of `size` elements of a dimension of a tensor of shape `of` is certainly
// contiguous.
bool are_rows(const Dims& of, const Dims& size);

}  // namespace tapml::passes
