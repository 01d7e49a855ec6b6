// Rewriting bindings front to back, each from what its operands have become.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "analysis/alias_sets.h"
#include "relax/rewrite.h"
#include "relax/visit.h"

namespace tapml::passes {

// Variables whose storage an operator or kernel takes over to update it, under any of their names
// (views, match_casts, fields of tuples): what they hold must not be shared anew.
std::set<const relax::VarNode*> consumed_variables(const relax::Expr& body);

// The field of a tuple that is made on the spot; null for any other expression, and where it has no
// such field: taking that is a fault at run time.
relax::Expr tuple_field(const relax::Expr& tuple, int index);

class ForwardRewrite {
 public:
  virtual ~ForwardRewrite() = default;
  // The body after rewrite() has seen every binding, inner ones (branches, lambdas) too.
  relax::Expr run(const relax::Expr& body);
  // The same of a function's body. Where storage is written (`writes`: somewhere in the module),
  // only what no write can tell from the original is taken over: reads do not move across writes,
  // and no tensor becomes another name of one that someone else may write.
  relax::Expr run(const relax::Function& function, const Module& module, bool writes);

 protected:
  // What stands for the value of `binding`, whose operands are replaced already: null where it
  // stays. An atom that surely has the variable's annotation takes the variable's place, where
  // scopes allow.
  virtual relax::Expr rewrite(const relax::Binding& binding, bool dataflow) = 0;
  // Whether the variables in `expr` can be used here.
  bool is_visible(const relax::Expr& expr) const;
  // Around a branch's or lambda's body.
  virtual void enter_scope() {}
  virtual void leave_scope() {}

  // What `operand` is bound to where it is a variable and this can be repeated here; else itself.
  relax::Expr value_of(const relax::Expr& operand) const;
  // The call among these that made `operand`; null for all else.
  const relax::CallNode* producer(const relax::Expr& operand) const;

 private:
  relax::Expr rewrite_body(const relax::Expr& body);
  relax::Block rewrite_block(const relax::Block& block);
  bool may_replace(const relax::Variable& var, const relax::Expr& atom, bool dataflow) const;
  bool takes_consumed(const relax::Expr& value, const relax::Expr& instead_of) const;
  bool may_tell(const relax::Binding& binding, const relax::Expr& value) const;

  std::set<const relax::VarNode*> consumed_;
  std::optional<analysis::AliasSets> aliases_;  // where something may be written
  bool writes_ = false;
  relax::ExprMap replaced_;
  // The variables that a variable stands for in it.
  std::map<const relax::VarNode*, std::vector<const relax::VarNode*>> stands_for_;
  // Variables of the dataflow block at hand that another variable has taken the place of.
  relax::ExprMap renamed_;
  std::set<const relax::VarNode*> block_variables_;
  std::map<const relax::VarNode*, relax::Expr> values_;
  // Of bindings that are gone, by the variable that stands for theirs.
  std::map<const relax::VarNode*, Origin> origins_;
};

}  // namespace tapml::passes
