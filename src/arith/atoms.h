// Numbers the indeterminates of polynomials: variables, and every canonical integer expression that
// is not a sum or a product (quotients, remainders, min, max, select, casts, loads, calls).
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "arith/polynomial.h"
#include "ir/expr.h"

namespace tapml::arith {

// Whether arithmetic of the type is assumed not to overflow and is put in canonical form. Other
// integer types wrap; their expressions are atoms.
bool has_polynomials(DType dtype);

struct Atom {
  PrimExpr expr;  // canonical
  // Operands as polynomials, for quotient, remainder, min, max (two) and select (the two values).
  std::vector<Polynomial> args;
  int64_t nodes = 1;  // of the expression as a tree
  ExprKind kind() const { return expr.kind(); }
};

class AtomTable {
 public:
  // The atom of a canonical expression; structurally equal expressions share one.
  AtomId intern(const PrimExpr& expr, std::vector<Polynomial> args = {});
  // The atom whose canonical expression is this very node.
  std::optional<AtomId> find(const PrimExpr& expr) const;
  const Atom& operator[](AtomId id) const { return atoms_[static_cast<size_t>(id)]; }
  size_t size() const { return atoms_.size(); }

  // The expression of a polynomial over atoms of type `dtype`, e.g. "n*4 + 1": higher degrees and
  // larger coefficients first, subtracted terms after added ones, the constant last.
  PrimExpr rebuild(const Polynomial& p, DType dtype);
  // Approximate number of nodes of the rebuilt expression, for comparing sizes.
  int64_t nodes(const Polynomial& p) const;
  // The term that would be printed first if signs did not count; p is not constant.
  const Term& leading_term(const Polynomial& p);
  // An order by structure and names: negative, 0 or positive. Variables first, integers last.
  int compare(const PrimExpr& a, const PrimExpr& b);

 private:
  bool before(const Term& a, const Term& b);
  std::vector<AtomId> display_order(const Monomial& monomial);

  std::vector<Atom> atoms_;
  std::unordered_map<const ExprNode*, AtomId> by_node_;
  std::unordered_multimap<size_t, AtomId> by_hash_;
};

}  // namespace tapml::arith
