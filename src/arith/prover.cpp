#include "arith/prover.h"

#include <algorithm>

#include "arith/elimination.h"

namespace tapml::arith {

Range Prover::interval(AtomId id) const {
  const Atom& atom = atoms_[id];
  // Operands share operands, so the expanded tree may be very large.
  if (!remembers_ || atom.args.empty()) return interval_of(atom, facts_.find(id));
  if (const auto known = intervals_.find(id); known != intervals_.end()) return known->second;
  const Range range = interval_of(atom, facts_.find(id));
  intervals_.emplace(id, range);
  return range;
}

Range Prover::interval_of(const Atom& atom, const AtomFacts* known) const {
  Range range = dtype_range(atom.expr.dtype());
  if (known) range = intersect(range, known->range);
  if (atom.args.size() != 2) {
    if (atom.kind() == ExprKind::kCast) {
      const PrimExpr& from = atom.expr.operand(0);
      Range inner = atom.args.empty() ? dtype_range(from.dtype()) : interval(atom.args[0]);
      Range to = dtype_range(atom.expr.dtype());
      // A value that does not fit the target may become anything.
      if (from.dtype() == DType::kU64 && inner.hi == Range::kPosInf) return range;
      bool fits = !is_float(from.dtype()) && to.lo <= inner.lo && inner.hi <= to.hi;
      if (fits) range = intersect(range, inner);
    }
    return range;
  }
  Range a = interval(atom.args[0]);
  Range b = interval(atom.args[1]);
  switch (atom.kind()) {
    case ExprKind::kFloorDiv:
      return intersect(range, range_floordiv(a, b));
    case ExprKind::kFloorMod:
      return intersect(range, range_floormod(a, b));
    case ExprKind::kMin:
      return intersect(range, range_min(a, b));
    case ExprKind::kMax:
      return intersect(range, range_max(a, b));
    case ExprKind::kSelect:
      return intersect(range, unite(a, b));
    default:
      return range;
  }
}

Range Prover::interval(const Polynomial& p) const {
  if (!p.valid()) return {};
  Range sum = Range::point(p.constant());
  for (const Term& t : p.terms()) {
    Range product = Range::point(t.coefficient);
    const AtomId* end = t.monomial.end();
    for (const AtomId* it = t.monomial.begin(); it != end; ++it) {
      Range range = interval(*it);
      const AtomId* next = it + 1;
      // A power is one range, so that a square is not negative.
      Range power = range;
      bool even = false;
      for (; next != end && *next == *it; ++next) {
        power = power * range;
        even = !even;
      }
      if (even) power = intersect(power, {0, Range::kPosInf});
      product = product * power;
      it = next - 1;
    }
    sum = sum + product;
  }
  return sum;
}

bool Prover::nonnegative(const Polynomial& p) const {
  if (!p.valid()) return false;
  if (p.is_constant()) return p.constant() >= 0;
  if (interval(p).lo >= 0) return true;
  Answers& answers = facts_.answers(atoms_);
  if (auto known = answers.nonnegative.find(p); known != answers.nonnegative.end()) {
    return known->second;
  }
  return answers.nonnegative[p] = Elimination(atoms_, facts_).reaches(p, 0);
}

int64_t Prover::lower(const Polynomial& p) const {
  if (!p.valid()) return Range::kNegInf;
  Range quick = interval(p);
  if (quick.is_point()) return quick.lo;
  Answers& answers = facts_.answers(atoms_);
  if (auto known = answers.lower.find(p); known != answers.lower.end()) return known->second;
  return answers.lower[p] = std::max(quick.lo, Elimination(atoms_, facts_).lower(p));
}

int64_t Prover::upper(const Polynomial& p) const { return (-Range::at_least(lower(-p))).hi; }

Range Prover::bounds(const Polynomial& p) const {
  if (!p.valid()) return {};
  Range quick = interval(p);
  if (quick.is_point()) return quick;
  return intersect(quick, {lower(p), upper(p)});
}

std::optional<int64_t> Prover::quotient(const Polynomial& p, int64_t divisor) const {
  if (!p.valid()) return std::nullopt;
  auto decided = [&](Range range) -> std::optional<int64_t> {
    if (!range.bounded() || range.lo > range.hi) return std::nullopt;
    int64_t least = floor_div(range.lo, divisor);
    if (least != floor_div(range.hi, divisor)) return std::nullopt;
    return least;
  };
  if (auto quick = decided(interval(p))) return quick;
  if (facts_.empty()) return std::nullopt;
  Range seen{Range::kPosInf, Range::kNegInf};
  std::optional<int64_t> q;
  facts_.answers(atoms_).witnesses.values(p, facts_, [&](int64_t x) {
    seen = unite(seen, {x, x});
    q = decided(seen);
    return q.has_value();
  });
  if (seen.lo > seen.hi) return decided(bounds(p));
  if (!q) return std::nullopt;
  const Polynomial rest = p - Polynomial(divisor) * Polynomial(*q);
  if (nonnegative(rest) && nonnegative(Polynomial(divisor - 1) - rest)) return q;
  return std::nullopt;
}

namespace {

constexpr int64_t kLargeModulus = int64_t{1} << 40;

int64_t gcd(int64_t a, int64_t b) {
  a = a < 0 ? -a : a;
  b = b < 0 ? -b : b;
  while (b != 0) {
    int64_t r = a % b;
    a = b;
    b = r;
  }
  return a;
}

bool large(int64_t v) { return v > kLargeModulus || v < -kLargeModulus; }

Residue normal(int64_t modulus, int64_t residue) {
  if (large(modulus) || (modulus == 0 && large(residue))) return {};
  return {modulus, modulus == 0 ? residue : floor_mod(residue, modulus)};
}

Residue add(Residue a, Residue b) {
  return normal(gcd(a.modulus, b.modulus), a.residue + b.residue);
}

Residue multiply(Residue a, Residue b) {
  auto product = [](int64_t x, int64_t y) {
    int64_t result;
    return __builtin_mul_overflow(x, y, &result) || large(result) ? kLargeModulus * 2 : result;
  };
  int64_t mm = product(a.modulus, b.modulus);
  int64_t mr = product(a.modulus, b.residue);
  int64_t rm = product(a.residue, b.modulus);
  int64_t rr = product(a.residue, b.residue);
  if (large(mm) || large(mr) || large(rm) || large(rr)) return {};
  return normal(gcd(gcd(mm, mr), rm), rr);
}

Residue unite(Residue a, Residue b) {
  return normal(gcd(gcd(a.modulus, b.modulus), a.residue - b.residue), a.residue);
}

}  // namespace

Residue Prover::residue(AtomId id) const {
  if (const AtomFacts* known = facts_.find(id)) {
    if (known->residue.modulus != 1) return known->residue;
    if (known->range.is_point()) return normal(0, known->range.lo);
  }
  const Atom& atom = atoms_[id];
  if (atom.args.size() != 2) return {};
  Residue a = residue(atom.args[0]);
  Residue b = residue(atom.args[1]);
  switch (atom.kind()) {
    case ExprKind::kFloorDiv:
      if (b.modulus != 0 || b.residue == 0) return {};
      if (a.modulus % b.residue != 0) return {};
      return normal(a.modulus / gcd(b.residue, 0), floor_div(a.residue, b.residue));
    case ExprKind::kFloorMod:
      // a - k*b for some integer k.
      return add(a, multiply({1, 0}, b));
    case ExprKind::kMin:
    case ExprKind::kMax:
    case ExprKind::kSelect:
      return unite(a, b);
    default:
      return {};
  }
}

Residue Prover::residue(const Polynomial& p) const {
  if (!p.valid()) return {};
  Residue sum = normal(0, p.constant());
  for (const Term& t : p.terms()) {
    Residue product = normal(0, t.coefficient);
    for (AtomId atom : t.monomial) product = multiply(product, residue(atom));
    sum = add(sum, product);
  }
  return sum;
}

bool Prover::divisible(const Polynomial& p, int64_t divisor) const {
  if (divisor == 0 || divisor == INT64_MIN || !p.valid()) return false;
  Residue set = residue(p);
  if (set.modulus % divisor == 0 && set.residue % divisor == 0) return true;
  return divisible_for_all_residues(p, divisor < 0 ? -divisor : divisor);
}

// The remainder of a polynomial depends only on the remainders of its atoms.
bool Prover::divisible_for_all_residues(const Polynomial& p, int64_t divisor) const {
  constexpr int64_t kMostCases = 4096;
  struct Choice {
    AtomId atom;
    std::vector<int64_t> remainders;
    size_t next = 0;
  };
  std::vector<Choice> choices;
  int64_t cases = 1;
  for (const Term& t : p.terms()) {
    for (AtomId atom : t.monomial) {
      auto known = std::find_if(choices.begin(), choices.end(),
                                [&](const Choice& choice) { return choice.atom == atom; });
      if (known != choices.end()) continue;
      Residue set = residue(atom);
      Choice choice{atom, {}, 0};
      int64_t step = set.modulus == 0 ? divisor : gcd(set.modulus, divisor);
      if (divisor / step > kMostCases) return false;
      for (int64_t r = floor_mod(set.residue, step); r < divisor; r += step) {
        choice.remainders.push_back(r);
      }
      cases *= static_cast<int64_t>(choice.remainders.size());
      if (cases > kMostCases) return false;
      choices.push_back(std::move(choice));
    }
  }
  auto remainder_of = [&](AtomId atom) {
    for (const Choice& choice : choices) {
      if (choice.atom == atom) return choice.remainders[choice.next];
    }
    return int64_t{0};
  };
  while (true) {
    __int128 sum = floor_mod(p.constant(), divisor);
    for (const Term& t : p.terms()) {
      __int128 product = floor_mod(t.coefficient, divisor);
      for (AtomId atom : t.monomial) product = product * remainder_of(atom) % divisor;
      sum = (sum + product) % divisor;
    }
    if (sum != 0) return false;
    size_t at = 0;
    while (at < choices.size() && ++choices[at].next == choices[at].remainders.size()) {
      choices[at++].next = 0;
    }
    if (at == choices.size()) return true;
  }
}

}  // namespace tapml::arith
