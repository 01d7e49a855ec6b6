// Rules of floor division and floor modulus. A divisor that is not negative is positive if the
// expression has a value.
#include <algorithm>
#include <numeric>

#include "arith/simplifier.h"

namespace tapml::arith {

// The quotient if it is the same for every value of p, as bounds show.
std::optional<int64_t> Simplifier::constant_quotient(const Polynomial& p,
                                                     const Polynomial& d) const {
  Prover prove = prover();
  if (d.is_constant()) {
    return d.constant() > 0 ? prove.quotient(p, d.constant()) : std::nullopt;
  }
  if (prove.nonnegative(p)) {
    if (prove.nonnegative(d - p - 1)) return 0;
  } else if (prove.nonnegative(-p - 1) && prove.nonnegative(p + d)) {
    return -1;
  }
  return std::nullopt;
}

// Common factors of the divisor and of single terms of p, largest first; d divided by each factor
// is positive.
std::vector<Term> Simplifier::split_factors(const Polynomial& p, const Polynomial& d) const {
  std::vector<Term> factors;
  auto divisor = d.single_term();
  if (!divisor) return factors;
  for (const Term& t : p.terms()) {
    Term g = gcd(t, *divisor);
    if (g.coefficient < 0) g.coefficient = -g.coefficient;
    bool trivial = g.coefficient == 1 && g.monomial.degree() == 0;
    if (trivial || !prover().nonnegative(divide_exact(d, g))) continue;
    if (std::find(factors.begin(), factors.end(), g) == factors.end()) {
      factors.push_back(g);
    }
  }
  std::stable_sort(factors.begin(), factors.end(), [](const Term& a, const Term& b) {
    if (a.monomial.degree() != b.monomial.degree()) {
      return a.monomial.degree() > b.monomial.degree();
    }
    return a.coefficient > b.coefficient;
  });
  return factors;
}

// p == g*first + second with 0 <= second < g.
std::optional<std::pair<Polynomial, Polynomial>> Simplifier::split(const Polynomial& p,
                                                                   const Term& g) const {
  Polynomial multiple, rest;
  for (const Term& t : p.terms()) (divides(g, t) ? multiple : rest).add_term(t);
  rest = rest + Polynomial(p.constant());
  Polynomial factor = Polynomial::of(g);
  auto q = constant_quotient(rest, factor);
  if (!q) return std::nullopt;
  Polynomial first = divide_exact(multiple, g) + Polynomial(*q);
  Polynomial second = rest - factor.times({{}, *q});
  if (!first.valid() || !second.valid()) return std::nullopt;
  return std::pair(std::move(first), std::move(second));
}

// d - 1 - p, if p only subtracts and d is positive.
std::optional<Polynomial> Simplifier::mirror(const Polynomial& p, const Polynomial& d,
                                             DType dtype) const {
  for (const Term& t : p.terms()) {
    if (t.coefficient > 0) return std::nullopt;
  }
  Polynomial mirrored = d - p - 1;
  if (p.is_constant() || !fits(mirrored, dtype) || !prover().nonnegative(d)) return std::nullopt;
  return mirrored;
}

Polynomial Simplifier::floordiv(const Polynomial& dividend, const Polynomial& d, DType dtype) {
  const Polynomial p = recombine(dividend, dtype);
  if (d.is_constant(0)) return atom(ExprKind::kFloorDiv, p, d, dtype);
  if (p.is_constant(0)) return p;
  auto divisor = d.single_term();
  if (divisor && divisor->coefficient < 0) {
    Polynomial negated = -p, positive = -d;
    if (!fits(negated, dtype) || !fits(positive, dtype)) {
      return atom(ExprKind::kFloorDiv, p, d, dtype);
    }
    return floordiv(negated, positive, dtype);
  }
  Division division = divide(p, d);
  if (divisor || division.remainder.size() < p.size()) {
    if (division.remainder.is_constant(0)) return division.quotient;
    if (!division.quotient.is_constant(0)) {
      return division.quotient + floordiv(division.remainder, d, dtype);
    }
  }
  if (auto q = constant_quotient(p, d)) return *q;
  // -a // d == -((a + d - 1) // d), so that rounding up has one form.
  if (auto mirrored = mirror(p, d, dtype)) return -floordiv(*mirrored, d, dtype);

  // (g*a + k) // (g*c) == (a + k//g) // c
  Term shared = content(d);
  if (d.is_constant()) {
    shared.coefficient = std::gcd(shared.coefficient, coefficient_gcd(p));
    if (shared.coefficient > 1) {
      Division by_factor = divide(p, shared.coefficient);
      return floordiv(by_factor.quotient, d.constant() / shared.coefficient, dtype);
    }
  } else {
    shared = gcd(shared, content(p));
    if (shared.coefficient > 1 || shared.monomial.degree() > 0) {
      return floordiv(divide_exact(p, shared), divide_exact(d, shared), dtype);
    }
  }
  // (g*a + b) // (g*c) == a // c for 0 <= b < g
  for (const Term& g : split_factors(p, d)) {
    if (auto parts = split(p, g)) return floordiv(parts->first, divide_exact(d, g), dtype);
  }
  if (auto id = p.single_atom()) {
    const Atom inner = atoms_[*id];
    if (inner.kind() == ExprKind::kFloorDiv && inner.args.size() == 2 && prover().nonnegative(d)) {
      // (a//b + k) // d == (a + k*b) // (b*d)
      Polynomial a = inner.args[0] + inner.args[1].times({{}, p.constant()});
      Polynomial b = inner.args[1] * d;
      if (fits(a, dtype) && fits(b, dtype)) return floordiv(a, b, dtype);
    }
    if (inner.kind() == ExprKind::kFloorMod && inner.args.size() == 2 && p.constant() == 0) {
      // (a % (c*d)) // d == (a//d) % c
      Division cut = divide(inner.args[1], d);
      if (cut.remainder.is_constant(0) && prover().nonnegative(d) &&
          prover().nonnegative(cut.quotient)) {
        return floormod(floordiv(inner.args[0], d, dtype), cut.quotient, dtype);
      }
    }
  }
  return atom(ExprKind::kFloorDiv, p, d, dtype);
}

// a % b is a up to multiples of b, so of every divisor of b.
Polynomial Simplifier::strip_remainders(const Polynomial& p, const Polynomial& d) const {
  for (const Term& t : p.terms()) {
    for (AtomId id : t.monomial) {
      const Atom& inner = atoms_[id];
      if (inner.kind() != ExprKind::kFloorMod || inner.args.size() != 2) continue;
      if (!divide(inner.args[1], d).remainder.is_constant(0)) continue;
      Term others{*t.monomial.over(Monomial(id)), t.coefficient};
      return p - Polynomial::of(t) + inner.args[0].times(others);
    }
  }
  return p;
}

Polynomial Simplifier::floormod(const Polynomial& dividend, const Polynomial& d, DType dtype) {
  const Polynomial p = recombine(dividend, dtype);
  if (d.is_constant(0)) return atom(ExprKind::kFloorMod, p, d, dtype);
  if (p.is_constant(0)) return p;
  auto divisor = d.single_term();
  if (divisor && divisor->coefficient < 0) {
    Polynomial negated = -p, positive = -d;
    if (!fits(negated, dtype) || !fits(positive, dtype)) {
      return atom(ExprKind::kFloorMod, p, d, dtype);
    }
    return -floormod(negated, positive, dtype);
  }
  Division division = divide(p, d);
  if (divisor || division.remainder.size() < p.size()) {
    if (!division.quotient.is_constant(0)) return floormod(division.remainder, d, dtype);
  }
  if (d.is_constant()) {
    Residue set = prover().residue(p);
    if (set.modulus % d.constant() == 0) return floor_mod(set.residue, d.constant());
  }
  if (auto q = constant_quotient(p, d)) return p - d.times({{}, *q});
  // -a % d == d - 1 - (a + d - 1) % d
  if (auto mirrored = mirror(p, d, dtype)) return d - 1 - floormod(*mirrored, d, dtype);
  Polynomial stripped = strip_remainders(p, d);
  if (fits(stripped, dtype) && stripped != p) return floormod(stripped, d, dtype);

  // (g*a) % (g*c) == g * (a % c)
  Term shared = gcd(content(d), content(p));
  if (shared.coefficient > 1 || shared.monomial.degree() > 0) {
    return floormod(divide_exact(p, shared), divide_exact(d, shared), dtype).times(shared);
  }
  // (g*a + b) % (g*c) == g * (a % c) + b for 0 <= b < g
  for (const Term& g : split_factors(p, d)) {
    if (auto parts = split(p, g)) {
      return floormod(parts->first, divide_exact(d, g), dtype).times(g) + parts->second;
    }
  }
  return atom(ExprKind::kFloorMod, p, d, dtype);
}

// The constant does not count, so that both sides of a comparison get the same form, whichever side
// has the constant.
int Simplifier::cost(const Polynomial& p) const {
  constexpr int kDivision = 4;
  int total = 0;
  for (const Term& t : p.terms()) {
    total += 1;
    for (AtomId id : t.monomial) {
      ExprKind kind = atoms_[id].kind();
      if (kind == ExprKind::kFloorDiv || kind == ExprKind::kFloorMod) total += kDivision;
    }
  }
  return total;
}

// Applies a//d*d + a%d == a in the cheaper direction. Every step lowers the cost.
Polynomial Simplifier::recombine(Polynomial p, DType dtype) {
  if (!p.valid() || !has_polynomials(dtype)) return p;
  for (bool improved = true; improved;) {
    improved = false;
    int before = cost(p);
    for (size_t i = 0; i < p.terms().size() && !improved; ++i) {
      const Term t = p.terms()[i];
      for (AtomId id : t.monomial) {
        const Atom inner = atoms_[id];
        if (inner.args.size() != 2) continue;
        const Polynomial& a = inner.args[0];
        const Polynomial& d = inner.args[1];
        Term factor{*t.monomial.over(Monomial(id)), t.coefficient};
        Polynomial candidate = p - Polynomial::of(t);
        if (inner.kind() == ExprKind::kFloorMod && p.terms().size() > 1) {
          candidate = candidate + (a - d * floordiv(a, d, dtype)).times(factor);
        } else if (inner.kind() == ExprKind::kFloorDiv) {
          Division scale = divide(Polynomial::of(factor), d);
          if (!scale.remainder.is_constant(0)) continue;
          candidate = candidate + scale.quotient * (a - floormod(a, d, dtype));
        } else {
          continue;
        }
        if (fits(candidate, dtype) && cost(candidate) < before) {
          p = std::move(candidate);
          improved = true;
          break;
        }
      }
    }
  }
  return p;
}

}  // namespace tapml::arith
