// Which variables of a function may share storage.
#pragma once

#include <map>

#include "relax/expr.h"

namespace tapml::analysis {

class AliasSets {
 public:
  // May writing to one change what the other reads?
  bool may_alias(const relax::VarNode* a, const relax::VarNode* b) const;

 private:
  friend AliasSets alias_sets(const relax::Function& function);
  const relax::VarNode* root(const relax::VarNode* var) const;
  void unite(const relax::VarNode* a, const relax::VarNode* b);

  mutable std::map<const relax::VarNode*, const relax::VarNode*> parent_;
};

// Shared storage comes from binding a variable to another, casts, views (reshape included, which a
// compiled program may make one), tuples and their fields, branches, and calls of functions and of
// packed functions: their results may be any of their arguments. Parameters may all share, because
// a caller may pass one tensor twice; other operators make tensors of their own.
AliasSets alias_sets(const relax::Function& function);

}  // namespace tapml::analysis
