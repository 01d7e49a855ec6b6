// Rewrites bindings front to back, each after its operands.
#pragma once

#include <optional>
#include <set>
#include <vector>

#include "analysis/alias_sets.h"
#include "relax/rewrite.h"
#include "relax/visit.h"

namespace tapml::passes {

// Variables whose storage an operator or kernel takes over for an update, under any of their
// aliases (views, match_casts, fields of tuples): their contents must not be shared anew.
std::set<const relax::VarNode*> consumed_variables(const relax::Expr& body);

// The field of a tuple that is constructed directly in the expression. Null for any other
// expression and for a field that the tuple lacks: taking that is a run-time error.
relax::Expr tuple_field(const relax::Expr& tuple, int index);

class ForwardRewrite {
 public:
  virtual ~ForwardRewrite() = default;
  // The body after rewrite() has visited every binding, including those in branches and lambdas.
  relax::Expr run(const relax::Expr& body);
  // The same for a function's body. Where storage is written (`writes`: somewhere in the module), a
  // value is replaced only if no write can tell the difference: reads do not move across writes,
  // and no tensor becomes an alias of one that other code may write.
  relax::Expr run(const relax::Function& function, const Module& module, bool writes);

 protected:
  // The replacement for the value of `binding`, whose operands are already replaced; null to keep
  // it. An atom that certainly has the variable's annotation replaces the variable, where scopes
  // allow.
  virtual relax::Expr rewrite(const relax::Binding& binding, bool dataflow) = 0;
  // Whether the variables in `expr` can be used here.
  bool is_visible(const relax::Expr& expr) const;
  // Called around the body of a branch or lambda.
  virtual void enter_scope() {}
  virtual void leave_scope() {}

  // The value bound to `operand` if it is a variable and the value can be repeated here; else
  // `operand`.
  relax::Expr value_of(const relax::Expr& operand) const;
  // The call that made `operand`, if it is such a value; null otherwise.
  const relax::CallNode* producer(const relax::Expr& operand) const;

 private:
  relax::Expr rewrite_body(const relax::Expr& body);
  relax::Block rewrite_block(const relax::Block& block);
  bool may_replace(const relax::Variable& var, const relax::Expr& atom, bool dataflow) const;
  bool takes_consumed(const relax::Expr& value, const relax::Expr& instead_of) const;
  bool may_tell(const relax::Binding& binding, const relax::Expr& value) const;

  std::set<const relax::VarNode*> consumed_;
  std::optional<analysis::AliasSets> aliases_;  // set where something may be written
  bool writes_ = false;
  relax::ExprMap replaced_;
  // The variables that a variable is replaced by in it.
  std::map<const relax::VarNode*, std::vector<const relax::VarNode*>> stands_for_;
  // Variables of the current dataflow block that have replaced another variable.
  relax::ExprMap renamed_;
  std::set<const relax::VarNode*> block_variables_;
  std::map<const relax::VarNode*, relax::Expr> values_;
  // Names of removed bindings, by the variable that replaces theirs.
  std::map<const relax::VarNode*, Origin> origins_;
};

}  // namespace tapml::passes
