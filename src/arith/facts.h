// What is known about atoms: constant ranges, bounds by polynomials, and residues.
#pragma once

#include <memory>
#include <vector>

#include "arith/interval.h"
#include "arith/polynomial.h"

namespace tapml::arith {

// scale * atom >= bound (or <= bound); scale is positive and bound free of the atom.
struct SymbolicBound {
  int64_t scale = 1;
  Polynomial bound;
  bool operator==(const SymbolicBound&) const = default;
};

// The set {modulus * k + residue}; modulus 0 is the single value `residue`.
struct Residue {
  int64_t modulus = 1;
  int64_t residue = 0;
};

struct AtomFacts {
  Range range;
  std::vector<SymbolicBound> lower;
  std::vector<SymbolicBound> upper;
  Residue residue;
};

class AtomTable;
struct Answers;

class Facts {
 public:
  // Null if nothing is known.
  const AtomFacts* find(AtomId atom) const;
  // Position in the order in which atoms became known; later ones (inner loops) are eliminated
  // first. -1 if unknown.
  int rank(AtomId atom) const;
  bool empty() const { return entries_.empty() && products_.empty(); }

  void restrict(AtomId atom, Range range);
  void set_residue(AtomId atom, Residue residue);
  void add_upper(AtomId atom, SymbolicBound bound);
  void add_lower(AtomId atom, SymbolicBound bound);
  // Records p >= 0 for every atom and product that it bounds.
  void add_nonnegative(const Polynomial& p);
  // Facts about products of atoms, each p >= 0.
  const std::vector<Polynomial>& products() const { return products_; }
  // Atoms in the order in which they became known.
  const std::vector<AtomId>& known() const { return known_; }
  // What was found out under the current facts; empty on first use.
  Answers& answers(const AtomTable& atoms) const;

 private:
  AtomFacts& entry(AtomId atom);

  std::vector<int32_t> index_;  // by atom; -1 if nothing is known
  std::vector<AtomFacts> entries_;
  std::vector<AtomId> known_;  // parallel to the entries
  std::vector<Polynomial> products_;
  mutable std::shared_ptr<Answers> answers_;  // shared by copies that learned nothing more
};

}  // namespace tapml::arith
