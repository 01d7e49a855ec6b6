// Which variables of a function may share storage, what is written, and what others may know.
#pragma once

#include <map>
#include <set>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::analysis {

class AliasSets {
 public:
  // May writing to one change what the other reads?
  bool may_alias(const relax::VarNode* a, const relax::VarNode* b) const;
  // Whether the function, or an impure function or function value that it calls, may write storage
  // that the variable shares.
  bool may_be_written(const relax::VarNode* var) const;
  // Whether the caller may know the storage: that of parameters, and of what is returned.
  bool is_shared(const relax::VarNode* var) const;

 private:
  friend class AliasFinder;
  const relax::VarNode* root(const relax::VarNode* var) const;
  void unite(const relax::VarNode* a, const relax::VarNode* b);

  mutable std::map<const relax::VarNode*, const relax::VarNode*> parent_;
  std::set<const relax::VarNode*> written_, shared_;  // roots
};

// Shared storage comes from binding a variable to another, casts, views (reshape included, which a
// compiled program may make one), tuples and their fields, branches, and calls of functions and of
// packed functions: their results may be any of their arguments. Parameters may all share, because
// a caller may pass one tensor twice; other operators make tensors of their own. A call of a
// function of `module` that is pure writes nothing; without a module, all but operators write.
// Updates in place count as no write: what they consume, nothing looks at again.
AliasSets alias_sets(const relax::Function& function, const Module* module = nullptr);

// Whether some function of the module writes storage (assign and its kin).
bool writes_storage(const Module& module);

}  // namespace tapml::analysis
