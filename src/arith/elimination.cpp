#include "arith/elimination.h"

#include <algorithm>

namespace tapml::arith {

namespace {
constexpr int kMaxDepth = 10;

bool is_choice(ExprKind kind) {
  return kind == ExprKind::kMin || kind == ExprKind::kMax || kind == ExprKind::kSelect;
}
}  // namespace

bool Elimination::reaches(const Polynomial& p, int64_t goal) {
  decides_ = true;
  return search(p, goal, kMaxDepth) >= goal;
}

int64_t Elimination::lower(const Polynomial& p) {
  decides_ = false;
  return search(p, Range::kPosInf, kMaxDepth);
}

// Interval arithmetic ignores that two terms share an atom: for n - m with m <= n it sees only the
// two intervals. So an atom a of p = f*a + r is replaced by a symbolic bound l <= a if f is not
// negative (by an upper bound if f is not positive); then p >= f*l + r has one atom less. When no
// bounds remain, intervals decide. This is symbolic range propagation (Blume and Eigenmann, 1995)
// as a search: every candidate and bound is tried until the goal is reached or the budget is spent.
// Witnesses cut off searches that cannot succeed.
int64_t Elimination::search(const Polynomial& p, int64_t goal, int depth) {
  if (!p.valid()) return Range::kNegInf;
  int64_t best = prover_.interval(p).lo;
  if (best >= goal || p.is_constant() || depth == 0 || budget_-- <= 0) return best;
  if (decides_) {
    if (witnesses_.any_below(p, goal, facts_)) return best;
  } else {
    // No lower bound exceeds a value that p takes.
    goal = std::min(goal, witnesses_.seen(p, facts_).lo);
    if (best >= goal) return best;
  }

  // p = g*q + k: a bound of the integer q is tighter than a bound of p.
  if (int64_t g = coefficient_gcd(p); g > 1) {
    Polynomial q;
    for (const Term& t : p.terms()) q.add_term({t.monomial, t.coefficient / g});
    int64_t k = p.constant();
    if (k == INT64_MIN) return best;
    int64_t inner_goal = goal;
    if (goal != Range::kPosInf) inner_goal = ceil_div(saturating_add(goal, -k), g);
    Range inner{search(q, inner_goal, depth), Range::kPosInf};
    return std::max(best, (inner * Range::point(g) + Range::point(k)).lo);
  }
  for (AtomId atom : candidates(p)) {
    best = std::max(best, eliminate(p, atom, goal, depth - 1));
    if (best >= goal || budget_ <= 0) return best;
  }
  return std::max(best, use_products(p, goal, depth - 1));
}

// Choices first (they are exact), then quotients and remainders, then variables, the innermost
// first: its bounds may name outer ones.
std::vector<AtomId> Elimination::candidates(const Polynomial& p) const {
  std::vector<AtomId> atoms;
  for (const Term& t : p.terms()) {
    for (AtomId atom : t.monomial) {
      if (std::find(atoms.begin(), atoms.end(), atom) == atoms.end()) atoms.push_back(atom);
    }
  }
  auto weight = [&](AtomId atom) {
    ExprKind kind = atoms_[atom].kind();
    int rank = facts_.rank(atom);
    if (is_choice(kind)) return 2'000'000 + rank;
    if (kind == ExprKind::kFloorDiv || kind == ExprKind::kFloorMod) return 1'000'000 + rank;
    return rank;
  };
  std::stable_sort(atoms.begin(), atoms.end(), [&](AtomId a, AtomId b) {
    int wa = weight(a), wb = weight(b);
    return wa != wb ? wa > wb : a > b;
  });
  return atoms;
}

bool Elimination::closed(const Polynomial& p) const {
  return std::none_of(eliminated_.begin(), eliminated_.end(),
                      [&](AtomId atom) { return p.contains(atom); });
}

void Elimination::bounds_of(AtomId id, std::vector<SymbolicBound>& lower,
                            std::vector<SymbolicBound>& upper) const {
  const Atom& atom = atoms_[id];
  if (const AtomFacts* known = facts_.find(id)) {
    lower = known->lower;
    upper = known->upper;
  }
  if (atom.args.size() == 2) {
    const Polynomial& a = atom.args[0];
    const Polynomial& b = atom.args[1];
    if (atom.kind() == ExprKind::kFloorDiv && b.is_constant() && b.constant() > 0) {
      Residue set = prover_.residue(a);
      if (set.modulus % b.constant() == 0) {
        // The remainder is known: the quotient is exact.
        SymbolicBound exact{b.constant(), a - Polynomial(floor_mod(set.residue, b.constant()))};
        lower.push_back(exact);
        upper.push_back(exact);
      } else {
        lower.push_back({b.constant(), a - Polynomial(b.constant() - 1)});
        upper.push_back({b.constant(), a});
      }
    } else if (atom.kind() == ExprKind::kFloorDiv && prover_.interval(b).lo >= 0 &&
               prover_.interval(a).lo >= 0) {
      upper.push_back({1, a});
    } else if (atom.kind() == ExprKind::kFloorMod && prover_.interval(b).lo >= 0) {
      if (!b.is_constant()) upper.push_back({1, b - 1});
      if (prover_.interval(a).lo >= 0) upper.push_back({1, a});
    } else if (atom.kind() == ExprKind::kMin) {
      upper.push_back({1, a});
      upper.push_back({1, b});
    } else if (atom.kind() == ExprKind::kMax) {
      lower.push_back({1, a});
      lower.push_back({1, b});
    }
  }
  Range range = prover_.interval(id);
  if (range.lo != Range::kNegInf) lower.push_back({1, range.lo});
  if (range.hi != Range::kPosInf) upper.push_back({1, range.hi});
}

Elimination::Sign Elimination::sign(const Polynomial& p, int depth) {
  Range range = prover_.interval(p);
  if (range.lo >= 0) return Sign::kNonnegative;
  if (range.hi <= 0) return Sign::kNonpositive;
  if (p.is_constant() || depth <= 0) return Sign::kUnknown;
  const Range seen = witnesses_.seen(p, facts_);
  if (seen.lo >= 0 && search(p, 0, depth - 1) >= 0) return Sign::kNonnegative;
  if (seen.hi <= 0 && search(-p, 0, depth - 1) >= 0) return Sign::kNonpositive;
  return Sign::kUnknown;
}

int64_t Elimination::scaled(const Polynomial& p, int64_t scale, int64_t goal, int depth) {
  // ceil(x / scale) >= goal holds if and only if x > scale * (goal - 1).
  int64_t inner = goal == Range::kPosInf
                      ? goal
                      : saturating_add(saturating_mul(scale, saturating_add(goal, -1)), 1);
  return ceil_div(search(p, inner, depth), scale);
}

int64_t Elimination::eliminate(const Polynomial& p, AtomId id, int64_t goal, int depth) {
  const Atom& atom = atoms_[id];
  std::vector<SymbolicBound> lower, upper;
  bounds_of(id, lower, upper);
  bool symbolic = false;
  for (const auto* side : {&lower, &upper}) {
    for (const SymbolicBound& b : *side) symbolic |= !b.bound.is_constant();
  }
  bool choice = is_choice(atom.kind()) && atom.args.size() == 2;
  bool quotient =
      atom.kind() == ExprKind::kFloorDiv && atom.args.size() == 2 && !atom.args[1].is_constant();
  if (!symbolic && !choice && !quotient) {
    // Constant bounds add nothing to intervals, unless terms share the atom.
    auto holds = [&](const Term& t) { return t.monomial.contains(id); };
    if (std::count_if(p.terms().begin(), p.terms().end(), holds) < 2) return Range::kNegInf;
  }

  Linear split = split_linear(p, id);
  bool linear = !split.factor.contains(id);
  Sign direction = sign(split.factor, std::min(depth, 4));
  eliminated_.push_back(id);
  int64_t best = Range::kNegInf;
  auto attempt = [&](const SymbolicBound& with) {
    if (!with.bound.valid() || !closed(with.bound)) return Range::kNegInf;
    Polynomial replaced = split.factor * with.bound + split.rest.times({{}, with.scale});
    return scaled(replaced, with.scale, goal, depth);
  };
  auto improve = [&](int64_t bound) { best = std::max(best, bound); };
  auto worst = [&](const SymbolicBound& a, const SymbolicBound& b) {
    int64_t first = attempt(a);
    return first == Range::kNegInf ? first : std::min(first, attempt(b));
  };

  if (choice && linear) {
    bool either = (atom.kind() == ExprKind::kMin && direction == Sign::kNonpositive) ||
                  (atom.kind() == ExprKind::kMax && direction == Sign::kNonnegative);
    if (!either) improve(worst({1, atom.args[0]}, {1, atom.args[1]}));
  }
  if (quotient && linear && best < goal && atom.args[1].single_term()) {
    // With d = atom * divisor: dividend - divisor < d <= dividend, for a positive divisor.
    const Polynomial& a = atom.args[0];
    const Polynomial& b = atom.args[1];
    Division division = divide(split.factor, b);
    if (prover_.interval(b).lo >= 0 && division.remainder.is_constant(0) && closed(a) &&
        closed(b)) {
      if (direction == Sign::kNonpositive) {
        improve(search(division.quotient * a + split.rest, goal, depth));
      } else if (direction == Sign::kNonnegative) {
        improve(search(division.quotient * (a - b + 1) + split.rest, goal, depth));
      }
    } else if (prover_.interval(b).lo >= 0 && goal != Range::kPosInf && closed(a) && closed(b)) {
      // b * (p - goal) > -b is the same as p >= goal.
      Polynomial rest = b * (split.rest - Polynomial(goal)) + b - 1;
      Polynomial d = direction == Sign::kNonpositive ? a : a - b + 1;
      if (direction != Sign::kUnknown && search(split.factor * d + rest, 0, depth) >= 0) {
        improve(goal);
      }
    }
  }
  auto try_all = [&](const std::vector<SymbolicBound>& bounds) {
    for (const SymbolicBound& bound : bounds) {
      if (best >= goal || budget_ <= 0) return;
      improve(attempt(bound));
    }
  };
  if (best < goal && direction == Sign::kNonnegative) try_all(lower);
  if (best < goal && direction == Sign::kNonpositive) try_all(upper);
  if (best < goal && direction == Sign::kUnknown && linear && !choice) {
    // Linear in the atom: the least value is at one of its ends.
    for (const SymbolicBound& lo : lower) {
      for (const SymbolicBound& hi : upper) {
        if (best >= goal || budget_ <= 0) break;
        improve(worst(lo, hi));
      }
    }
  }
  eliminated_.pop_back();
  return best;
}

int64_t Elimination::use_products(const Polynomial& p, int64_t goal, int depth) {
  int64_t best = Range::kNegInf;
  for (const Polynomial& fact : facts_.products()) {
    if (!closed(fact)) continue;
    for (const Term& t : fact.terms()) {
      int64_t c = p.coefficient(t.monomial);
      if (t.monomial.degree() < 2 || c == 0 || (c > 0) != (t.coefficient > 0)) continue;
      if (c == INT64_MIN || t.coefficient == INT64_MIN) continue;
      // scale * p - |c| * fact has no such product, and is at most scale * p.
      int64_t scale = t.coefficient < 0 ? -t.coefficient : t.coefficient;
      Polynomial rest = p.times({{}, scale}) - fact.times({{}, c < 0 ? -c : c});
      best = std::max(best, scaled(rest, scale, goal, depth));
      if (best >= goal || budget_ <= 0) return best;
    }
  }
  return best;
}

}  // namespace tapml::arith
