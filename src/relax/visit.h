// Walking graph-level functions.
#pragma once

#include <functional>
#include <map>

#include "relax/expr.h"

namespace tapml::relax {

// Calls f on every binding of the body, in order, branches and nested sequences included.
void visit_bindings(const Expr& body, const std::function<void(const Binding&, bool dataflow)>& f);
// Calls f on every expression, outside in.
void visit(const Expr& expr, const std::function<void(const Expr&)>& f);

// An if with f's results in place of its condition and branches, or a lambda with it in place of
// its body; null for any other expression.
Expr map_bodies(const Expr& expr, const std::function<Expr(const Expr&)>& f);

// Rebuilds a body with f's block in place of each: inner ones (branches, lambdas) first. Blocks
// that become empty are dropped.
Expr map_blocks(const Expr& body, const std::function<Block(const Block&)>& f);

// How often each variable is used (not counting its binding).
std::map<const VarNode*, int> use_counts(const Expr& body);

// The blocks and result of a function's body.
const SeqNode& body_of(const Function& function);

// Symbolic variables of the parameters, in order of first occurrence.
std::vector<Var> signature_vars(const Function& function);

// Solves `param` (annotation with symbolic variables) against `argument`: extends `values` by the
// variables that stand alone in a dimension of `param`. Returns false where the two are provably
// of different kind, rank, dtype or constant dimension. Callers check the remaining expressions.
bool unify(const Annotation& param, const Annotation& argument, VarMap& values);

}  // namespace tapml::relax
