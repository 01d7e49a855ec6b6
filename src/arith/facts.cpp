#include "arith/facts.h"

#include <algorithm>

#include "arith/answers.h"

namespace tapml::arith {

const AtomFacts* Facts::find(AtomId atom) const {
  int i = rank(atom);
  return i < 0 ? nullptr : &entries_[static_cast<size_t>(i)];
}

int Facts::rank(AtomId atom) const {
  auto i = static_cast<size_t>(atom);
  return i < index_.size() ? index_[i] : -1;
}

Answers& Facts::answers(const AtomTable& atoms) const {
  if (!answers_) answers_ = std::make_shared<Answers>(atoms);
  return *answers_;
}

AtomFacts& Facts::entry(AtomId atom) {
  answers_.reset();
  auto i = static_cast<size_t>(atom);
  if (i >= index_.size()) index_.resize(i + 1, -1);
  if (index_[i] < 0) {
    index_[i] = static_cast<int32_t>(entries_.size());
    entries_.emplace_back();
    known_.push_back(atom);
  }
  return entries_[static_cast<size_t>(index_[i])];
}

void Facts::restrict(AtomId atom, Range range) {
  AtomFacts& facts = entry(atom);
  facts.range = intersect(facts.range, range);
}

void Facts::set_residue(AtomId atom, Residue residue) { entry(atom).residue = residue; }

namespace {
void add_unique(std::vector<SymbolicBound>& bounds, SymbolicBound bound) {
  if (std::find(bounds.begin(), bounds.end(), bound) == bounds.end()) {
    bounds.push_back(std::move(bound));
  }
}
}  // namespace

void Facts::add_upper(AtomId atom, SymbolicBound bound) {
  add_unique(entry(atom).upper, std::move(bound));
}

void Facts::add_lower(AtomId atom, SymbolicBound bound) {
  add_unique(entry(atom).lower, std::move(bound));
}

void Facts::add_nonnegative(const Polynomial& p) {
  if (!p.valid() || p.is_constant()) return;
  bool has_product = false;
  for (const Term& t : p.terms()) {
    if (t.monomial.degree() > 1) {
      has_product = true;
      continue;
    }
    AtomId atom = *t.monomial.begin();
    Linear split = split_linear(p, atom);
    if (!split.factor.is_constant() || t.coefficient == INT64_MIN) continue;
    if (split.rest.is_constant()) {
      // c*v + k >= 0
      __int128 k = split.rest.constant();
      __int128 c = t.coefficient < 0 ? -static_cast<__int128>(t.coefficient) : t.coefficient;
      __int128 floor = k >= 0 ? k / c : -((-k + c - 1) / c);  // of k / |c|
      restrict(atom, t.coefficient > 0 ? Range::of(-floor, static_cast<__int128>(1) << 100)
                                       : Range::of(-(static_cast<__int128>(1) << 100), floor));
    } else if (t.coefficient > 0) {
      add_lower(atom, {t.coefficient, -split.rest});
    } else {
      add_upper(atom, {-t.coefficient, split.rest});
    }
  }
  if (has_product && std::find(products_.begin(), products_.end(), p) == products_.end()) {
    products_.push_back(p);
    answers_.reset();
  }
}

}  // namespace tapml::arith
