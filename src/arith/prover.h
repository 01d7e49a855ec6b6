// Bounds and signs of polynomials from facts.
#pragma once

#include <unordered_map>

#include "arith/atoms.h"
#include "arith/facts.h"

namespace tapml::arith {

class Prover {
 public:
  Prover(const AtomTable& atoms, const Facts& facts) : atoms_(atoms), facts_(facts) {}
  // A prover that caches the intervals of atoms: for many queries in a row with no fact added
  // between them.
  static Prover remembering(const AtomTable& atoms, const Facts& facts) {
    Prover prover(atoms, facts);
    prover.remembers_ = true;
    return prover;
  }

  // By interval arithmetic alone: fast, but it ignores atoms that terms share.
  Range interval(const Polynomial& p) const;
  Range interval(AtomId atom) const;

  // By elimination too: atoms of p are replaced by their symbolic bounds, chosen by the sign of the
  // factor, until intervals decide. Sound but not complete; the effort is bounded.
  bool nonnegative(const Polynomial& p) const;
  bool positive(const Polynomial& p) const { return nonnegative(p - 1); }
  Range bounds(const Polynomial& p) const;
  int64_t lower(const Polynomial& p) const;  // of bounds alone, at half the cost
  int64_t upper(const Polynomial& p) const;
  // floor(p / divisor) if it is the same for all values; the divisor must be positive.
  std::optional<int64_t> quotient(const Polynomial& p, int64_t divisor) const;

  // A residue set that contains every value of p.
  Residue residue(const Polynomial& p) const;
  Residue residue(AtomId atom) const;
  // By residues and, for small divisors, by trying all residues of all atoms: n*(n + 1) is even.
  bool divisible(const Polynomial& p, int64_t divisor) const;

 private:
  bool divisible_for_all_residues(const Polynomial& p, int64_t divisor) const;
  Range interval_of(const Atom& atom, const AtomFacts* known) const;

  const AtomTable& atoms_;
  const Facts& facts_;
  bool remembers_ = false;
  mutable std::unordered_map<AtomId, Range> intervals_;  // of atoms that have operands
};

}  // namespace tapml::arith
