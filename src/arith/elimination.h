// Search for a lower bound of a polynomial by eliminating its atoms.
#pragma once

#include <vector>

#include "arith/answers.h"
#include "arith/prover.h"

namespace tapml::arith {

// One search. All calls share one effort budget.
class Elimination {
 public:
  Elimination(const AtomTable& atoms, const Facts& facts)
      : atoms_(atoms),
        facts_(facts),
        prover_(Prover::remembering(atoms, facts)),
        witnesses_(facts.answers(atoms).witnesses) {}

  // Whether the search finds a lower bound of p that is at least `goal`.
  bool reaches(const Polynomial& p, int64_t goal);
  // The best lower bound of p that the search finds.
  int64_t lower(const Polynomial& p);

 private:
  enum class Sign { kUnknown, kNonnegative, kNonpositive };

  // The search stops once it reaches `goal`.
  int64_t search(const Polynomial& p, int64_t goal, int depth);
  int64_t eliminate(const Polynomial& p, AtomId atom, int64_t goal, int depth);
  int64_t use_products(const Polynomial& p, int64_t goal, int depth);
  Sign sign(const Polynomial& p, int depth);
  // A lower bound of p / scale.
  int64_t scaled(const Polynomial& p, int64_t scale, int64_t goal, int depth);
  bool closed(const Polynomial& p) const;  // whether p has no eliminated atoms
  std::vector<AtomId> candidates(const Polynomial& p) const;
  void bounds_of(AtomId atom, std::vector<SymbolicBound>& lower,
                 std::vector<SymbolicBound>& upper) const;

  const AtomTable& atoms_;
  const Facts& facts_;
  const Prover prover_;
  Witnesses& witnesses_;
  bool decides_ = true;  // only whether the goal is reached matters, not bounds below it
  std::vector<AtomId> eliminated_;
  int budget_ = 160;
};

}  // namespace tapml::arith
