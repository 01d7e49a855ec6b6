// What queries found out under one set of facts. Passes ask the same questions about the parts of
// an expression and about neighbouring accesses, and a search costs thousands of times a lookup.
#pragma once

#include <unordered_map>

#include "arith/witness.h"

namespace tapml::arith {

struct Answers {
  explicit Answers(const AtomTable& atoms) : witnesses(atoms) {}

  Witnesses witnesses;
  std::unordered_map<Polynomial, bool, PolynomialHash> nonnegative;
  std::unordered_map<Polynomial, int64_t, PolynomialHash> lower;
};

}  // namespace tapml::arith
