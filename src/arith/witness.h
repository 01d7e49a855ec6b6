// Values of all atoms that satisfy every fact. An expression that is negative for one of them
// cannot be proved nonnegative: this detects most failing proofs at the cost of an evaluation.
#pragma once

#include <optional>
#include <vector>

#include "arith/atoms.h"
#include "arith/facts.h"

namespace tapml::arith {

// One choice of values. An atom may have no value (the choice violates its facts, a zero divisor,
// an overflow); then everything computed from it has none.
class Witness {
 public:
  // `kind` selects which of the possible values to take (the least, the greatest, others).
  Witness(const AtomTable& atoms, const Facts& facts, size_t kind);

  std::optional<int64_t> value(const Polynomial& p);

 private:
  enum class State : uint8_t { kUnknown, kBusy, kKnown, kNone };

  std::optional<int64_t> value(AtomId id);
  std::optional<int64_t> derived(const Atom& atom);
  std::optional<int64_t> chosen(AtomId id);
  bool agrees(AtomId id, const AtomFacts& facts);

  const AtomTable& atoms_;
  const Facts* facts_;  // only during construction
  size_t kind_;
  bool usable_ = true;
  std::vector<State> states_;
  std::vector<int64_t> values_;
};

// A few choices, as different as possible.
class Witnesses {
 public:
  static constexpr size_t kKinds = 6;

  explicit Witnesses(const AtomTable& atoms) : atoms_(atoms) {}

  // Every call has the same facts: a choice is made when the first query gets to it, since most
  // queries need one or two.
  bool any_below(const Polynomial& p, int64_t goal, const Facts& facts);
  // From the least to the greatest value of p under the choices; lo > hi if it has none.
  Range seen(const Polynomial& p, const Facts& facts);
  // Passes the values of p to `visit` until it returns false.
  template <class Visit>
  void values(const Polynomial& p, const Facts& facts, Visit visit) {
    for (size_t kind = 0; kind < kKinds; ++kind) {
      if (kind == choices_.size()) choices_.emplace_back(atoms_, facts, kind);
      const std::optional<int64_t> x = choices_[kind].value(p);
      if (x && !visit(*x)) return;
    }
  }

 private:
  const AtomTable& atoms_;
  std::vector<Witness> choices_;
};

}  // namespace tapml::arith
