#include "arith/polynomial.h"

#include <algorithm>
#include <numeric>

#include "ir/expr.h"

namespace tapml::arith {

bool Monomial::contains(AtomId atom) const { return std::find(begin(), end(), atom) != end(); }

std::optional<Monomial> Monomial::times(const Monomial& other) const {
  if (degree_ + other.degree_ > static_cast<int>(kMaxDegree)) return std::nullopt;
  Monomial result;
  result.degree_ = static_cast<uint8_t>(degree_ + other.degree_);
  std::merge(begin(), end(), other.begin(), other.end(), result.atoms_.begin());
  return result;
}

std::optional<Monomial> Monomial::over(const Monomial& divisor) const {
  if (!std::includes(begin(), end(), divisor.begin(), divisor.end())) return std::nullopt;
  Monomial result;
  auto last =
      std::set_difference(begin(), end(), divisor.begin(), divisor.end(), result.atoms_.begin());
  result.degree_ = static_cast<uint8_t>(last - result.atoms_.begin());
  return result;
}

Monomial Monomial::common(const Monomial& other) const {
  Monomial result;
  auto last =
      std::set_intersection(begin(), end(), other.begin(), other.end(), result.atoms_.begin());
  result.degree_ = static_cast<uint8_t>(last - result.atoms_.begin());
  return result;
}

std::strong_ordering Monomial::operator<=>(const Monomial& other) const {
  if (degree_ != other.degree_) return degree_ <=> other.degree_;
  // The smallest atom leads, hence the reversed comparison.
  return std::lexicographical_compare_three_way(other.begin(), other.end(), begin(), end());
}

bool Monomial::operator==(const Monomial& other) const {
  return degree_ == other.degree_ && std::equal(begin(), end(), other.begin());
}

size_t PolynomialHash::operator()(const Polynomial& p) const {
  size_t hash = 0;
  auto add = [&hash](auto value) {
    hash ^= static_cast<size_t>(value) + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  };
  for (const Term& t : p.terms()) {
    for (AtomId atom : t.monomial) add(atom);
    add(t.coefficient);
  }
  add(p.constant());
  return hash;
}

Polynomial Polynomial::atom(AtomId atom) { return of(Term{Monomial(atom), 1}); }

Polynomial Polynomial::of(const Term& term) {
  Polynomial result;
  if (term.monomial.degree() == 0) {
    result.constant_ = term.coefficient;
  } else if (term.coefficient != 0) {
    result.terms_.push_back(term);
  }
  return result;
}

Polynomial Polynomial::invalid() {
  Polynomial result;
  result.valid_ = false;
  return result;
}

std::optional<Term> Polynomial::single_term() const {
  if (!valid_ || size() != 1) return std::nullopt;
  return terms_.empty() ? Term{{}, constant_} : terms_[0];
}

std::optional<AtomId> Polynomial::single_atom() const {
  if (!valid_ || terms_.size() != 1 || terms_[0].coefficient != 1) return std::nullopt;
  if (terms_[0].monomial.degree() != 1) return std::nullopt;
  return *terms_[0].monomial.begin();
}

bool Polynomial::contains(AtomId atom) const {
  return std::any_of(terms_.begin(), terms_.end(),
                     [&](const Term& t) { return t.monomial.contains(atom); });
}

int64_t Polynomial::coefficient(const Monomial& monomial) const {
  for (const Term& t : terms_) {
    if (t.monomial == monomial) return t.coefficient;
  }
  return 0;
}

void Polynomial::add_scaled(const Polynomial& other, int64_t scale) {
  if (!valid_ || !other.valid_) {
    *this = invalid();
    return;
  }
  bool overflow = false;
  auto scaled = [&](int64_t c) {
    int64_t product = 0;
    overflow |= __builtin_mul_overflow(c, scale, &product);
    return product;
  };
  std::vector<Term> sum;
  sum.reserve(terms_.size() + other.terms_.size());
  auto a = terms_.begin();
  auto b = other.terms_.begin();
  while (a != terms_.end() || b != other.terms_.end()) {
    if (b == other.terms_.end() || (a != terms_.end() && a->monomial > b->monomial)) {
      sum.push_back(*a++);
    } else if (a == terms_.end() || b->monomial > a->monomial) {
      sum.push_back({b->monomial, scaled(b->coefficient)});
      ++b;
    } else {
      int64_t c = 0;
      overflow |= __builtin_add_overflow(a->coefficient, scaled(b->coefficient), &c);
      if (c != 0) sum.push_back({a->monomial, c});
      ++a;
      ++b;
    }
  }
  overflow |= __builtin_add_overflow(constant_, scaled(other.constant_), &constant_);
  terms_ = std::move(sum);
  if (overflow || terms_.size() > kMaxTerms) *this = invalid();
}

Polynomial Polynomial::operator+(const Polynomial& other) const {
  Polynomial result = *this;
  result.add_scaled(other, 1);
  return result;
}

Polynomial Polynomial::operator-(const Polynomial& other) const {
  Polynomial result = *this;
  result.add_scaled(other, -1);
  return result;
}

void Polynomial::add_term(const Term& term) {
  bool last = terms_.empty() || terms_.back().monomial > term.monomial;
  if (valid_ && last && term.monomial.degree() > 0 && terms_.size() < kMaxTerms) {
    if (term.coefficient != 0) terms_.push_back(term);
    return;
  }
  add_scaled(of(term), 1);
}

Polynomial Polynomial::times(const Term& term) const {
  if (!valid_) return *this;
  if (term.coefficient == 0) return Polynomial();
  Polynomial result;
  result.terms_.reserve(terms_.size() + 1);
  bool overflow = false;
  for (const Term& t : terms_) {
    auto monomial = t.monomial.times(term.monomial);
    int64_t c = 0;
    overflow |= __builtin_mul_overflow(t.coefficient, term.coefficient, &c);
    if (!monomial || overflow) return invalid();
    result.terms_.push_back({*monomial, c});
  }
  if (constant_ != 0) {
    int64_t c = 0;
    if (__builtin_mul_overflow(constant_, term.coefficient, &c)) return invalid();
    if (term.monomial.degree() == 0) {
      result.constant_ = c;
    } else {
      result.add_term({term.monomial, c});
    }
  }
  return result;
}

Polynomial Polynomial::operator*(const Polynomial& other) const {
  if (!valid_ || !other.valid_) return invalid();
  const Polynomial& small = size() <= other.size() ? *this : other;
  const Polynomial& large = size() <= other.size() ? other : *this;
  if (terms_.size() * other.terms_.size() > 4 * kMaxTerms) return invalid();
  Polynomial result = large.times({{}, small.constant_});
  for (const Term& t : small.terms_) result.add_scaled(large.times(t), 1);
  return result;
}

Linear split_linear(const Polynomial& p, AtomId atom) {
  Linear result;
  result.rest = p.constant();
  const Monomial single(atom);
  for (const Term& t : p.terms()) {
    if (auto over = t.monomial.over(single)) {
      result.factor.add_term({*over, t.coefficient});
    } else {
      result.rest.add_term(t);
    }
  }
  return result;
}

namespace {
// 0 for INT64_MIN, whose absolute value does not fit: callers treat 0 as "no factor".
int64_t magnitude(int64_t a) { return a == INT64_MIN ? 0 : (a < 0 ? -a : a); }
}  // namespace

Term gcd(const Term& a, const Term& b) {
  if (a.coefficient == 0) return b;
  if (b.coefficient == 0) return a;
  if (a.coefficient == INT64_MIN || b.coefficient == INT64_MIN) {
    return {a.monomial.common(b.monomial), 1};
  }
  return {a.monomial.common(b.monomial), std::gcd(a.coefficient, b.coefficient)};
}

Term content(const Polynomial& p) {
  Term result{{}, 0};
  if (p.constant() != 0) {
    int64_t m = magnitude(p.constant());
    result = {{}, m == 0 ? 1 : m};
  }
  for (const Term& t : p.terms()) result = gcd(result, t);
  if (result.coefficient < 0) result.coefficient = magnitude(result.coefficient);
  if (result.coefficient == 0 && p.size() > 0) result.coefficient = 1;
  return result;
}

int64_t coefficient_gcd(const Polynomial& p) {
  int64_t g = 0;
  for (const Term& t : p.terms()) {
    int64_t m = magnitude(t.coefficient);
    if (m == 0) return 1;
    g = std::gcd(g, m);
  }
  return g;
}

bool divides(const Term& divisor, const Term& term) {
  if (divisor.coefficient == 0 || divisor.coefficient == -1) {
    return divisor.coefficient == -1 && term.coefficient != INT64_MIN &&
           term.monomial.over(divisor.monomial).has_value();
  }
  return term.coefficient % divisor.coefficient == 0 &&
         term.monomial.over(divisor.monomial).has_value();
}

Term divide_exact(const Term& term, const Term& divisor) {
  return {*term.monomial.over(divisor.monomial), term.coefficient / divisor.coefficient};
}

Polynomial divide_exact(const Polynomial& p, const Term& term) {
  Polynomial result(term.monomial.degree() == 0 ? p.constant() / term.coefficient : 0);
  for (const Term& t : p.terms()) result.add_term(divide_exact(t, term));
  return result;
}

namespace {

Division divide_by_term(const Polynomial& p, const Term& divisor) {
  Division result;
  for (const Term& t : p.terms()) {
    auto over = t.monomial.over(divisor.monomial);
    if (!over) {
      result.remainder.add_term(t);
      continue;
    }
    result.quotient.add_term({*over, t.coefficient / divisor.coefficient});
    result.remainder.add_term({t.monomial, t.coefficient % divisor.coefficient});
  }
  if (divisor.monomial.degree() == 0) {
    result.quotient.add_term({{}, floor_div(p.constant(), divisor.coefficient)});
    result.remainder.add_term({{}, floor_mod(p.constant(), divisor.coefficient)});
  } else {
    result.remainder.add_term({{}, p.constant()});
  }
  return result;
}

Division divide_by_sum(const Polynomial& p, const Polynomial& divisor) {
  constexpr int kMaxSteps = 32;
  Division result{0, p};
  if (divisor.terms().empty()) return result;
  const Term& lead = divisor.terms().front();
  for (int step = 0; step < kMaxSteps; ++step) {
    const std::vector<Term>& terms = result.remainder.terms();
    auto it =
        std::find_if(terms.begin(), terms.end(), [&](const Term& t) { return divides(lead, t); });
    if (it == terms.end()) return result;
    Term q = divide_exact(*it, lead);
    Polynomial remainder = result.remainder - divisor.times(q);
    Polynomial quotient = result.quotient + Polynomial::of(q);
    if (!remainder.valid() || !quotient.valid()) return {0, p};
    result = {std::move(quotient), std::move(remainder)};
  }
  return {0, p};
}

}  // namespace

Division divide(const Polynomial& p, const Polynomial& divisor) {
  auto term = divisor.single_term();
  if (!term) return divide_by_sum(p, divisor);
  // -1 would overflow on the smallest integer; callers make divisors positive first.
  if (term->coefficient == -1 || term->coefficient == 0) return {0, p};
  return divide_by_term(p, *term);
}

}  // namespace tapml::arith
