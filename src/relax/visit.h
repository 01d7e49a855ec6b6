// Walks and rewrites graph-level functions.
#pragma once

#include <functional>
#include <map>

#include "relax/expr.h"

namespace tapml::relax {

// Calls f on every binding of the body, in order, branches and nested sequences included.
void visit_bindings(const Expr& body, const std::function<void(const Binding&, bool dataflow)>& f);
// Calls f on every expression, outside in.
void visit(const Expr& expr, const std::function<void(const Expr&)>& f);

// Replaces the condition and branches of an if, or the body of a lambda, by f's results; null for
// any other expression.
Expr map_bodies(const Expr& expr, const std::function<Expr(const Expr&)>& f);

// Rebuilds a body by replacing each block by f's result, inner blocks (branches, lambdas) first.
// Blocks that become empty are dropped.
Expr map_blocks(const Expr& body, const std::function<Block(const Block&)>& f);

// How often each variable is used (not counting its binding).
std::map<const VarNode*, int> use_counts(const Expr& body);

// The blocks and result of a function's body.
const SeqNode& body_of(const Function& function);

// Symbolic variables of the parameters, in order of first occurrence.
std::vector<Var> signature_vars(const Function& function);

// Solves `param` (annotation with symbolic variables) against `argument`: adds to `values` the
// variables that alone are a dimension of `param`. Returns false if the two provably differ in
// kind, rank, dtype or a constant dimension. Callers check the remaining expressions.
bool unify(const Annotation& param, const Annotation& argument, VarMap& values);

}  // namespace tapml::relax
