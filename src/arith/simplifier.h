// The rewriting half of the analyzer. A simplifier serves one query.
#pragma once

#include <utility>

#include "arith/prover.h"

namespace tapml::arith {

class Simplifier {
 public:
  Simplifier(AtomTable& atoms, const Facts& facts) : atoms_(atoms), facts_(&facts) {}

  // Returns `e` itself if it is already in canonical form.
  PrimExpr simplify(const PrimExpr& e);
  // Canonical polynomial of an integer expression of any type without wrap-around; expressions of
  // other integer types become one atom or a constant.
  Polynomial polynomial(const PrimExpr& e);
  bool prove(const PrimExpr& condition, bool expected = true);
  // Records in `into` the facts that follow if `condition` has the value `truth`.
  void learn(const PrimExpr& condition, bool truth, Facts& into);
  void learn_nonnegative(const Polynomial& p, Facts& into);
  void learn_residue(const Polynomial& a, const Polynomial& b, Facts& into);
  Prover prover() const { return Prover(atoms_, *facts_); }

 private:
  // simplifier.cpp: the walk.
  PrimExpr canonical(const PrimExpr& e);  // new nodes, whose atoms are those of the table
  Polynomial sum(const PrimExpr& e);
  Polynomial binary(const PrimExpr& e);
  Polynomial value_of(const PrimExpr& canonical);
  Polynomial cast_value(const PrimExpr& e);
  std::optional<Polynomial> uncast(AtomId id, DType dtype) const;
  Polynomial widen(const Polynomial& p);
  Polynomial select_value(const PrimExpr& e);
  // let: `simplified` is called for the body with the known facts about the variable.
  template <class T, class F>
  T let_value(const PrimExpr& e, F&& simplified);
  PrimExpr operands_simplified(const PrimExpr& e);
  PrimExpr other(const PrimExpr& e);
  // Runs `body` with the canonical `condition` known to be `truth`.
  template <class F>
  auto given(const PrimExpr& condition, bool truth, F&& body);

  // quotient.cpp
  Polynomial floordiv(const Polynomial& dividend, const Polynomial& d, DType dtype);
  Polynomial floormod(const Polynomial& dividend, const Polynomial& d, DType dtype);
  std::optional<int64_t> constant_quotient(const Polynomial& p, const Polynomial& d) const;
  std::vector<Term> split_factors(const Polynomial& p, const Polynomial& d) const;
  std::optional<std::pair<Polynomial, Polynomial>> split(const Polynomial& p, const Term& g) const;
  std::optional<Polynomial> mirror(const Polynomial& p, const Polynomial& d, DType dtype) const;
  Polynomial strip_remainders(const Polynomial& p, const Polynomial& d) const;
  Polynomial recombine(Polynomial p, DType dtype);
  int cost(const Polynomial& p) const;

  // extremum.cpp: min and max.
  Polynomial extremum(ExprKind kind, const Polynomial& a, const Polynomial& b, DType dtype);
  void flatten(ExprKind kind, const Polynomial& p, std::vector<Polynomial>& into) const;

  // condition.cpp
  PrimExpr condition(const PrimExpr& e);
  PrimExpr negation(const PrimExpr& a);
  PrimExpr comparison(const PrimExpr& e);
  PrimExpr rebuilt(const Polynomial& p, DType dtype);
  PrimExpr order(const PrimExpr& e, const PrimExpr& a, const PrimExpr& b);
  PrimExpr equality(const PrimExpr& e, const PrimExpr& a, const PrimExpr& b);
  bool may_rearrange(const Polynomial& p, const Polynomial& left, const Polynomial& right,
                     DType dtype) const;

  // An atom, or the constant that it is known to be.
  Polynomial atom(const PrimExpr& e, std::vector<Polynomial> args = {});
  Polynomial atom(ExprKind kind, const Polynomial& a, const Polynomial& b, DType dtype);

  AtomTable& atoms_;
  const Facts* facts_;
  // Whether nodes of the table's atoms are used unchanged: set while walking a canonical
  // expression.
  bool trust_atoms_ = false;
};

// Whether every coefficient is a value of `dtype`.
bool fits(const Polynomial& p, DType dtype);

template <class F>
auto Simplifier::given(const PrimExpr& condition, bool truth, F&& body) {
  Facts extended = *facts_;
  bool trust = std::exchange(trust_atoms_, true);
  learn(condition, truth, extended);
  trust_atoms_ = trust;
  const Facts* outer = std::exchange(facts_, &extended);
  auto result = body();
  facts_ = outer;
  return result;
}

}  // namespace tapml::arith
