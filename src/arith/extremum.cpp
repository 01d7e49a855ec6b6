// Rules of min and max.
#include <algorithm>

#include "arith/simplifier.h"

namespace tapml::arith {

// min(min(a, b) + k, c): the operands a+k, b+k, c.
void Simplifier::flatten(ExprKind kind, const Polynomial& p, std::vector<Polynomial>& into) const {
  constexpr size_t kMaxOperands = 8;
  if (auto id = p.single_atom(); id && into.size() < kMaxOperands) {
    const Atom& inner = atoms_[*id];
    if (inner.kind() == kind && inner.args.size() == 2) {
      Polynomial a = inner.args[0] + p.constant();
      Polynomial b = inner.args[1] + p.constant();
      if (fits(a, inner.expr.dtype()) && fits(b, inner.expr.dtype())) {
        flatten(kind, a, into);
        flatten(kind, b, into);
        return;
      }
    }
  }
  if (std::find(into.begin(), into.end(), p) == into.end()) into.push_back(p);
}

Polynomial Simplifier::extremum(ExprKind kind, const Polynomial& a, const Polynomial& b,
                                DType dtype) {
  std::vector<Polynomial> operands;
  flatten(kind, a, operands);
  flatten(kind, b, operands);
  bool minimum = kind == ExprKind::kMin;
  for (size_t i = 0; i < operands.size(); ++i) {
    for (size_t j = 0; j < operands.size(); ++j) {
      if (i == j) continue;
      // Operand j never determines the result.
      Polynomial margin = minimum ? operands[j] - operands[i] : operands[i] - operands[j];
      if (!prover().nonnegative(margin)) continue;
      operands.erase(operands.begin() + static_cast<std::ptrdiff_t>(j));
      if (j < i) --i;
      --j;
    }
  }
  if (operands.size() == 1) return operands[0];
  std::sort(operands.begin(), operands.end(), [&](const Polynomial& x, const Polynomial& y) {
    return atoms_.compare(atoms_.rebuild(x, dtype), atoms_.rebuild(y, dtype)) < 0;
  });
  if (operands.size() > 2) {
    Polynomial result = extremum(kind, operands[0], operands[1], dtype);
    for (size_t i = 2; i < operands.size(); ++i) {
      PrimExpr left = atoms_.rebuild(result, dtype);
      PrimExpr right = atoms_.rebuild(operands[i], dtype);
      bool swap = atoms_.compare(right, left) < 0;
      result = atom(kind, swap ? operands[i] : result, swap ? result : operands[i], dtype);
    }
    return result;
  }

  // min(x + g*a, x + g*b) == x + g*min(a, b)
  Polynomial& first = operands[0];
  Polynomial& second = operands[1];
  Polynomial common;
  if (first.constant() == second.constant()) common = first.constant();
  for (const Term& t : first.terms()) {
    if (second.coefficient(t.monomial) == t.coefficient) common.add_term(t);
  }
  Polynomial left = first - common;
  Polynomial right = second - common;
  int64_t scale = gcd(content(left), content(right)).coefficient;
  bool factored = !common.is_constant(0) || scale > 1;
  if (factored && fits(left, dtype) && fits(right, dtype)) {
    Term factor{{}, std::max<int64_t>(scale, 1)};
    Polynomial inner =
        extremum(kind, divide_exact(left, factor), divide_exact(right, factor), dtype);
    Polynomial result = inner.times(factor) + common;
    if (fits(result, dtype)) return result;
  }
  return atom(kind, first, second, dtype);
}

}  // namespace tapml::arith
