// Which variables of a function may share storage, which storage is written, and which is visible
// to callers.
#pragma once

#include <map>
#include <set>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::analysis {

class AliasSets {
 public:
  // Whether writing to one may change what the other reads.
  bool may_alias(const relax::VarNode* a, const relax::VarNode* b) const;
  // Whether the function, or an impure function or function value that it calls, may write storage
  // that the variable shares.
  bool may_be_written(const relax::VarNode* var) const;
  // Whether the caller may access the storage: storage of parameters and of results.
  bool is_shared(const relax::VarNode* var) const;

 private:
  friend class AliasFinder;
  const relax::VarNode* root(const relax::VarNode* var) const;
  void unite(const relax::VarNode* a, const relax::VarNode* b);

  mutable std::map<const relax::VarNode*, const relax::VarNode*> parent_;
  std::set<const relax::VarNode*> written_, shared_;  // roots
};

// Storage is shared through binding a variable to another, casts, views (also reshape, which a
// compiled program may implement as a view), tuples and their fields, branches, and calls of
// functions and packed functions, whose results may be any of their arguments. All parameters may
// share storage, because a caller may pass one tensor twice; other operators make new tensors. A
// call of a pure function of `module` writes nothing; without a module, all calls except operators
// write. Updates in place do not count as writes: nothing uses what they consume again.
AliasSets alias_sets(const relax::Function& function, const Module* module = nullptr);

// Whether any function of the module writes storage (assign and similar operators).
bool writes_storage(const Module& module);

}  // namespace tapml::analysis
