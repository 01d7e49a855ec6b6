#include "arith/witness.h"

#include <algorithm>

#include "arith/prover.h"

namespace tapml::arith {

namespace {

constexpr __int128 kLimit = Range::kLimit;

bool within_limit(__int128 value) { return value >= -kLimit && value <= kLimit; }

int64_t below_infinity(int64_t hi) { return hi == Range::kPosInf ? Range::kLimit : hi; }

// Picks a value of the range by the kind of choice; `number` distinguishes atoms.
int64_t pick(Range range, size_t kind, size_t number) {
  constexpr int64_t kFar[] = {0, 5003, 1, 131, 37, 16};
  if (range.lo == Range::kNegInf) {
    if (range.hi == Range::kPosInf) {
      const int64_t offset = kFar[kind] + static_cast<int64_t>(number % 3);
      return kind % 2 == 0 ? offset : -offset;
    }
    return std::max(range.hi - kFar[kind], -Range::kLimit);
  }
  const int64_t hi = below_infinity(range.hi);
  const auto room = static_cast<__int128>(hi) - range.lo;
  __int128 offset = kFar[kind];
  if (range.hi != Range::kPosInf) {
    constexpr int64_t kMix = 2654435761;
    const auto mixed = static_cast<int64_t>((number * 7 + kind * 3 + 1) * kMix >> 8 & 0xffff);
    const __int128 offsets[] = {0,
                                room,
                                (room + 1) / 2,
                                room - mixed % (room + 1),
                                mixed % (room + 1),
                                mixed % 2 == 0 ? room : 0};
    offset = offsets[kind];
  }
  return static_cast<int64_t>(range.lo + std::min(offset, room));
}

}  // namespace

Witness::Witness(const AtomTable& atoms, const Facts& facts, size_t kind)
    : atoms_(atoms), facts_(&facts), kind_(kind) {
  for (AtomId id : facts.known()) value(id);
  // An atom whose facts do not hold has no value, nor do atoms whose facts refer to it.
  for (bool changed = true; changed;) {
    changed = false;
    for (AtomId id : facts.known()) {
      if (!value(id) || agrees(id, *facts.find(id))) continue;
      states_[static_cast<size_t>(id)] = State::kNone;
      changed = true;
    }
    if (!changed) break;
    for (size_t i = 0; i < states_.size(); ++i) {
      bool is_derived = !atoms_[static_cast<AtomId>(i)].args.empty();
      if (is_derived && states_[i] == State::kKnown) states_[i] = State::kUnknown;
    }
  }
  for (const Polynomial& fact : facts.products()) {
    auto known = value(fact);
    if (known && *known >= 0) continue;
    usable_ = false;  // any proof may use this fact
    break;
  }
  facts_ = nullptr;
}

bool Witness::agrees(AtomId id, const AtomFacts& facts) {
  const int64_t x = *value(id);
  if (!facts.range.contains(x)) return false;
  if (facts.residue.modulus == 0
          ? x != facts.residue.residue
          : floor_mod(x - facts.residue.residue, facts.residue.modulus) != 0) {
    return false;
  }
  auto holds = [&](const std::vector<SymbolicBound>& bounds, int sign) {
    return std::all_of(bounds.begin(), bounds.end(), [&](const SymbolicBound& one) {
      auto bound = value(one.bound);
      return bound && sign * (static_cast<__int128>(one.scale) * x - *bound) >= 0;
    });
  };
  return holds(facts.lower, 1) && holds(facts.upper, -1);
}

std::optional<int64_t> Witness::value(const Polynomial& p) {
  if (!p.valid() || !usable_) return std::nullopt;
  __int128 sum = p.constant();
  for (const Term& t : p.terms()) {
    __int128 product = t.coefficient;
    for (AtomId id : t.monomial) {
      auto factor = value(id);
      if (!factor || !within_limit(product)) return std::nullopt;
      product *= *factor;
    }
    if (!within_limit(product)) return std::nullopt;
    sum += product;
  }
  if (!within_limit(sum)) return std::nullopt;
  return static_cast<int64_t>(sum);
}

std::optional<int64_t> Witness::value(AtomId id) {
  auto i = static_cast<size_t>(id);
  if (i >= states_.size()) {
    states_.resize(atoms_.size(), State::kUnknown);
    values_.resize(atoms_.size());
  }
  if (states_[i] == State::kKnown) return values_[i];
  if (states_[i] != State::kUnknown) return std::nullopt;
  states_[i] = State::kBusy;
  const Atom& atom = atoms_[id];
  auto found = atom.args.empty() ? chosen(id) : derived(atom);
  if (found && !(within_limit(*found) && dtype_range(atom.expr.dtype()).contains(*found))) {
    found.reset();
  }
  states_[i] = found ? State::kKnown : State::kNone;
  if (found) values_[i] = *found;
  return found;
}

std::optional<int64_t> Witness::derived(const Atom& atom) {
  auto a = value(atom.args[0]);
  if (atom.kind() == ExprKind::kCast && atom.args.size() == 1) return a;
  if (!a || atom.args.size() != 2) return std::nullopt;
  auto b = value(atom.args[1]);
  if (!b) return std::nullopt;
  switch (atom.kind()) {
    case ExprKind::kFloorDiv:
      return *b == 0 ? std::nullopt : std::optional(floor_div(*a, *b));
    case ExprKind::kFloorMod:
      return *b == 0 ? std::nullopt : std::optional(floor_mod(*a, *b));
    case ExprKind::kMin:
      return std::min(*a, *b);
    case ExprKind::kMax:
      return std::max(*a, *b);
    case ExprKind::kSelect:
      return kind_ % 2 == 0 ? a : b;
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> Witness::chosen(AtomId id) {
  static const Facts kNothing;
  const Facts& facts = facts_ ? *facts_ : kNothing;
  Range range = Prover(atoms_, facts).interval(id);
  const AtomFacts* known = facts.find(id);
  if (!known) return pick(range, kind_, static_cast<size_t>(id));
  // Skip bounds that refer to an atom whose choice depends on this one.
  for (const SymbolicBound& one : known->lower) {
    if (auto bound = value(one.bound)) {
      range.lo = std::max(range.lo, ceil_div(*bound, one.scale));
    }
  }
  for (const SymbolicBound& one : known->upper) {
    if (auto bound = value(one.bound)) {
      range.hi = std::min(range.hi, floor_div(*bound, one.scale));
    }
  }
  if (range.lo > range.hi) return std::nullopt;
  int64_t x = pick(range, kind_, static_cast<size_t>(facts.rank(id)));
  const Residue& residue = known->residue;
  if (residue.modulus == 0) return residue.residue;
  if (residue.modulus > 1) {
    x -= floor_mod(x - residue.residue, residue.modulus);
    if (x < range.lo) x += residue.modulus;
  }
  return x;
}

bool Witnesses::any_below(const Polynomial& p, int64_t goal, const Facts& facts) {
  bool found = false;
  values(p, facts, [&](int64_t x) {
    found = x < goal;
    return !found;
  });
  return found;
}

Range Witnesses::seen(const Polynomial& p, const Facts& facts) {
  Range range{Range::kPosInf, Range::kNegInf};
  values(p, facts, [&](int64_t x) {
    range = unite(range, {x, x});
    return true;
  });
  return range;
}

}  // namespace tapml::arith
