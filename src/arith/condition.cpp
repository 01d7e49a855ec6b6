// Comparisons and boolean connectives: simplification, proof, and the facts that follow from them.
#include "arith/simplifier.h"

namespace tapml::arith {

namespace {

bool is_truth(const PrimExpr& e, bool value) { return e.is_int(value ? 1 : 0); }

// Whether an int64 holds all values of the type.
bool has_order(DType dtype) { return is_integer(dtype) && dtype != DType::kU64; }

struct Sides {
  Polynomial added;       // terms with positive coefficients
  Polynomial subtracted;  // the others, negated
};

Sides split_signs(const Polynomial& p) {
  Sides sides;
  for (const Term& t : p.terms()) {
    if (t.coefficient > 0) {
      sides.added.add_term(t);
    } else {
      sides.subtracted = sides.subtracted - Polynomial::of(t);
    }
  }
  return sides;
}

// Divides p >= 0 by the common divisor of its coefficients; over integers the constant rounds down.
Polynomial tightened(const Polynomial& p) {
  int64_t g = coefficient_gcd(p);
  if (g <= 1) return p;
  Polynomial result = floor_div(p.constant(), g);
  for (const Term& t : p.terms()) result.add_term({t.monomial, t.coefficient / g});
  return result;
}

}  // namespace

// Moving terms across a comparison must not overflow where the original did not.
bool Simplifier::may_rearrange(const Polynomial& p, const Polynomial& left, const Polynomial& right,
                               DType dtype) const {
  if (!fits(p, dtype) || !fits(left, dtype) || !fits(right, dtype)) return false;
  Range range = dtype_range(dtype);
  auto safe = [&](const Polynomial& side) {
    Range value = prover().interval(side);
    return value == intersect(value, range) && (dtype != DType::kI64 || value.bounded());
  };
  if (safe(left) && safe(right)) return true;
  if (dtype != DType::kI64) return p.terms().size() <= 1;
  // Sizes and indices are far from the limits of i64; loaded data may not be.
  for (const Term& t : p.terms()) {
    for (AtomId id : t.monomial) {
      if (atoms_[id].kind() == ExprKind::kLoad) return p.terms().size() <= 1;
    }
  }
  return true;
}

PrimExpr Simplifier::rebuilt(const Polynomial& p, DType dtype) {
  return atoms_.rebuild(recombine(p, dtype), dtype);
}

PrimExpr Simplifier::order(const PrimExpr& e, const PrimExpr& a, const PrimExpr& b) {
  DType dtype = a.dtype();
  bool strict = e.kind() == ExprKind::kLt;
  Polynomial x = sum(a), y = sum(b);
  Polynomial d = recombine(y - x, dtype) - Polynomial(strict ? 1 : 0);
  auto raw = [&] { return make_binary(e.kind(), rebuilt(x, dtype), rebuilt(y, dtype)); };
  if (!d.valid()) return raw();
  if (prover().nonnegative(d)) return make_bool(true);
  if (prover().nonnegative(-d - 1)) return make_bool(false);
  d = tightened(d);
  Sides sides = split_signs(d);
  int64_t c = d.constant();
  // subtracted <= added + c
  Polynomial left = sides.subtracted;
  Polynomial right = sides.added;
  bool less = c < 0;
  if (sides.subtracted.is_constant()) {
    less = c == -1;
    left = less ? Polynomial() : Polynomial(0) - Polynomial(c);
  } else if (sides.added.is_constant()) {
    less = c != INT64_MAX;
    right = less ? Polynomial(c) + 1 : Polynomial(c);
  } else if (less) {
    left = left + (Polynomial(-1) - Polynomial(c));
  } else {
    right = right + Polynomial(c);
  }
  if (!may_rearrange(d, left, right, dtype)) return raw();
  return make_binary(less ? ExprKind::kLt : ExprKind::kLe, atoms_.rebuild(left, dtype),
                     atoms_.rebuild(right, dtype));
}

PrimExpr Simplifier::equality(const PrimExpr& e, const PrimExpr& a, const PrimExpr& b) {
  DType dtype = a.dtype();
  bool equal = e.kind() == ExprKind::kEq;
  Polynomial x = sum(a), y = sum(b);
  Polynomial d = recombine(x - y, dtype);
  auto raw = [&] {
    PrimExpr left = rebuilt(x, dtype), right = rebuilt(y, dtype);
    if (atoms_.compare(right, left) < 0) std::swap(left, right);
    return make_binary(e.kind(), left, right);
  };
  if (!d.valid()) return raw();
  if (d.is_constant()) return make_bool((d.constant() == 0) == equal);
  bool not_less = prover().nonnegative(d);
  bool not_more = prover().nonnegative(-d);
  if (not_less && not_more) return make_bool(equal);
  Residue set = prover().residue(d);
  bool apart = set.modulus == 0 ? set.residue != 0 : set.residue % set.modulus != 0;
  if (apart || prover().positive(d) || prover().positive(-d)) return make_bool(!equal);
  int64_t g = coefficient_gcd(d);
  if (g > 1 && d.constant() % g == 0) d = divide_exact(d, Term{{}, g});
  if (atoms_.leading_term(d).coefficient < 0) d = -d;
  if (!d.valid()) return raw();
  Sides sides = split_signs(d);
  Polynomial left = sides.added;
  Polynomial right = sides.subtracted;
  int64_t c = d.constant();
  if (c > 0 && !right.is_constant()) {
    left = left + Polynomial(c);
  } else {
    right = right - Polynomial(c);
  }
  if (!may_rearrange(d, left, right, dtype)) return raw();
  return make_binary(e.kind(), atoms_.rebuild(left, dtype), atoms_.rebuild(right, dtype));
}

PrimExpr Simplifier::comparison(const PrimExpr& e) {
  const PrimExpr& a = e.operand(0);
  const PrimExpr& b = e.operand(1);
  bool equality_kind = e.kind() == ExprKind::kEq || e.kind() == ExprKind::kNe;
  if (has_order(a.dtype())) return equality_kind ? equality(e, a, b) : order(e, a, b);
  PrimExpr x = canonical(a), y = canonical(b);
  if (a.dtype() == DType::kBool && equality_kind) {
    bool equal = e.kind() == ExprKind::kEq;
    if (x.is_int()) std::swap(x, y);
    if (same_expr(x, y)) return make_bool(equal);
    if (y.is_int()) return is_truth(y, equal) ? x : negation(x);
  }
  if (a.dtype() == DType::kU64 && same_expr(x, y)) {
    return make_bool(e.kind() == ExprKind::kEq || e.kind() == ExprKind::kLe);
  }
  return make_binary(e.kind(), x, y);
}

// `a` must be canonical.
PrimExpr Simplifier::negation(const PrimExpr& a) {
  if (a.is_int()) return make_bool(a->int_value == 0);
  if (a.kind() == ExprKind::kNot) return a.operand(0);
  if (!is_comparison(a.kind()) || is_float(a.operand(0).dtype())) {
    return make_node(ExprKind::kNot, DType::kBool, {a});
  }
  const PrimExpr& x = a.operand(0);
  const PrimExpr& y = a.operand(1);
  bool trust = std::exchange(trust_atoms_, true);
  PrimExpr result;
  if (a.kind() == ExprKind::kEq) {
    result = comparison(make_binary(ExprKind::kNe, x, y));
  } else if (a.kind() == ExprKind::kNe) {
    result = comparison(make_binary(ExprKind::kEq, x, y));
  } else {
    result =
        comparison(make_binary(a.kind() == ExprKind::kLt ? ExprKind::kLe : ExprKind::kLt, y, x));
  }
  trust_atoms_ = trust;
  return result;
}

PrimExpr Simplifier::condition(const PrimExpr& e) {
  switch (e.kind()) {
    case ExprKind::kEq:
    case ExprKind::kNe:
    case ExprKind::kLt:
    case ExprKind::kLe:
      return comparison(e);
    case ExprKind::kAnd:
    case ExprKind::kOr: {
      // The second side matters only if the first does not decide.
      bool conjunction = e.kind() == ExprKind::kAnd;
      PrimExpr a = canonical(e.operand(0));
      if (a.is_int()) return is_truth(a, conjunction) ? canonical(e.operand(1)) : a;
      PrimExpr b = given(a, conjunction, [&] { return canonical(e.operand(1)); });
      if (b.is_int()) return is_truth(b, conjunction) ? a : b;
      if (same_expr(a, b)) return a;
      return make_binary(e.kind(), a, b);
    }
    case ExprKind::kNot:
      return negation(canonical(e.operand(0)));
    case ExprKind::kSelect: {
      PrimExpr chosen = canonical(e.operand(0));
      if (chosen.is_int()) return canonical(e.operand(chosen->int_value != 0 ? 1 : 2));
      PrimExpr a = given(chosen, true, [&] { return canonical(e.operand(1)); });
      PrimExpr b = given(chosen, false, [&] { return canonical(e.operand(2)); });
      if (same_expr(a, b)) return a;
      if (is_truth(a, true) && is_truth(b, false)) return chosen;
      if (is_truth(a, false) && is_truth(b, true)) return negation(chosen);
      return make_node(ExprKind::kSelect, DType::kBool, {chosen, a, b});
    }
    case ExprKind::kCast: {
      PrimExpr a = canonical(e.operand(0));
      if (a.is_int()) return make_bool(a->int_value != 0);
      return cast(DType::kBool, a);
    }
    default:
      return other(e);
  }
}

bool Simplifier::prove(const PrimExpr& e, bool expected) {
  if (e.kind() == ExprKind::kNot) return prove(e.operand(0), !expected);
  if (e.kind() == ExprKind::kAnd || e.kind() == ExprKind::kOr) {
    bool both = (e.kind() == ExprKind::kAnd) == expected;
    const PrimExpr& a = e.operand(0);
    const PrimExpr& b = e.operand(1);
    if (both) return prove(a, expected) && prove(b, expected);
    return prove(a, expected) || given(a, !expected, [&] { return prove(b, expected); });
  }
  return is_truth(simplify(e), expected);
}

void Simplifier::learn_nonnegative(const Polynomial& p, Facts& into) {
  if (!p.valid()) return;
  into.add_nonnegative(tightened(p));
  // min(a, b) is at most each of its operands, max at least.
  for (const Term& t : p.terms()) {
    if (t.monomial.degree() != 1) continue;
    AtomId id = *t.monomial.begin();
    const Atom inner = atoms_[id];
    bool bounded = (inner.kind() == ExprKind::kMin && t.coefficient > 0) ||
                   (inner.kind() == ExprKind::kMax && t.coefficient < 0);
    if (!bounded || inner.args.size() != 2) continue;
    for (const Polynomial& operand : inner.args) {
      learn_nonnegative(p - Polynomial::of(t) + operand.times({{}, t.coefficient}), into);
    }
    return;
  }
}

void Simplifier::learn(const PrimExpr& e, bool truth, Facts& into) {
  if (e.kind() == ExprKind::kNot) return learn(e.operand(0), !truth, into);
  if (e.kind() == (truth ? ExprKind::kAnd : ExprKind::kOr)) {
    learn(e.operand(0), truth, into);
    learn(e.operand(1), truth, into);
    return;
  }
  if (!is_comparison(e.kind()) || !has_order(e.operand(0).dtype())) return;
  Polynomial a = polynomial(e.operand(0));
  Polynomial b = polynomial(e.operand(1));
  Polynomial d = b - a;
  if (e.kind() == ExprKind::kLt || e.kind() == ExprKind::kLe) {
    int64_t strict = e.kind() == ExprKind::kLt ? 1 : 0;
    learn_nonnegative(truth ? d - strict : Polynomial(strict - 1) - d, into);
    return;
  }
  if ((e.kind() == ExprKind::kEq) != truth) {
    // An inequality helps at the edge of a range.
    if (prover().nonnegative(d)) into.add_nonnegative(d - 1);
    if (prover().nonnegative(-d)) into.add_nonnegative(-d - 1);
    return;
  }
  learn_nonnegative(d, into);
  learn_nonnegative(-d, into);
  learn_residue(a, b, into);
  learn_residue(b, a, into);
}

// From a == b: the residue of a, or of x in (x + k) % m == r.
void Simplifier::learn_residue(const Polynomial& a, const Polynomial& b, Facts& into) {
  auto id = a.single_atom();
  if (!id) return;
  Residue same = prover().residue(b - a.constant());
  if (same.modulus > 1) into.set_residue(*id, same);
  if (!b.is_constant()) return;
  const Atom inner = atoms_[*id];
  if (inner.kind() != ExprKind::kFloorMod || inner.args.size() != 2) return;
  auto x = inner.args[0].single_atom();
  if (!x || !inner.args[1].is_constant() || inner.args[1].constant() <= 0) return;
  Polynomial residue = b - a.constant() - inner.args[0].constant();
  if (!residue.valid()) return;
  int64_t modulus = inner.args[1].constant();
  into.set_residue(*x, {modulus, floor_mod(residue.constant(), modulus)});
}

}  // namespace tapml::arith
