// Multivariate polynomials with int64 coefficients: the canonical form of integer expressions. The
// indeterminates ("atoms", atoms.h) are subexpressions that are not a sum or a product.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <vector>

namespace tapml::arith {

using AtomId = int32_t;

// A product of atoms, ascending ids, repeated for powers.
class Monomial {
 public:
  static constexpr size_t kMaxDegree = 8;

  Monomial() = default;
  explicit Monomial(AtomId atom) : degree_(1) { atoms_[0] = atom; }

  size_t degree() const { return degree_; }
  const AtomId* begin() const { return atoms_.data(); }
  const AtomId* end() const { return atoms_.data() + degree_; }
  bool contains(AtomId atom) const;
  // std::nullopt if the degree would exceed kMaxDegree.
  std::optional<Monomial> times(const Monomial& other) const;
  // std::nullopt if `divisor` does not divide this.
  std::optional<Monomial> over(const Monomial& divisor) const;
  Monomial common(const Monomial& other) const;
  // Graded lexicographic, an admissible order for polynomial division.
  std::strong_ordering operator<=>(const Monomial& other) const;
  bool operator==(const Monomial& other) const;

 private:
  std::array<AtomId, kMaxDegree> atoms_{};
  uint8_t degree_ = 0;
};

struct Term {
  Monomial monomial;  // of degree 0 only in single Terms, never inside a Polynomial
  int64_t coefficient = 0;
  bool operator==(const Term&) const = default;
};

// A sum of terms (distinct monomials in descending order, no zero coefficient) and a constant. A
// result that does not fit (coefficient, degree, number of terms) is not valid(), nor is any result
// computed from it.
class Polynomial {
 public:
  static constexpr size_t kMaxTerms = 64;

  Polynomial() = default;
  Polynomial(int64_t constant) : constant_(constant) {}  // NOLINT
  static Polynomial atom(AtomId atom);
  static Polynomial of(const Term& term);
  static Polynomial invalid();

  bool valid() const { return valid_; }
  const std::vector<Term>& terms() const { return terms_; }
  int64_t constant() const { return constant_; }
  bool is_constant() const { return valid_ && terms_.empty(); }
  bool is_constant(int64_t value) const { return is_constant() && constant_ == value; }
  // The only term, if there is exactly one; a non-zero constant is a term too.
  std::optional<Term> single_term() const;
  // The atom, if this is 1*atom + constant.
  std::optional<AtomId> single_atom() const;
  // Number of terms, the constant included.
  size_t size() const { return terms_.size() + (constant_ != 0); }
  bool contains(AtomId atom) const;
  int64_t coefficient(const Monomial& monomial) const;

  Polynomial operator+(const Polynomial& other) const;
  Polynomial operator-(const Polynomial& other) const;
  Polynomial operator-() const { return times(Term{{}, -1}); }
  Polynomial operator*(const Polynomial& other) const;
  Polynomial times(const Term& term) const;
  bool operator==(const Polynomial&) const = default;

  void add_term(const Term& term);  // in any order; descending is fastest

 private:
  void add_scaled(const Polynomial& other, int64_t scale);

  std::vector<Term> terms_;
  int64_t constant_ = 0;
  bool valid_ = true;
};

struct PolynomialHash {
  size_t operator()(const Polynomial& p) const;
};

struct Linear {
  Polynomial factor;  // contains the atom if it occurs squared
  Polynomial rest;    // free of the atom
};
// p == factor * atom + rest.
Linear split_linear(const Polynomial& p, AtomId atom);

// Greatest common divisor of two terms: a positive coefficient and the shared atoms.
Term gcd(const Term& a, const Term& b);
// Greatest common divisor of every term and the constant; coefficient 0 for the zero polynomial.
Term content(const Polynomial& p);
// Greatest common divisor of the coefficients, without the constant; 0 for a constant.
int64_t coefficient_gcd(const Polynomial& p);
bool divides(const Term& divisor, const Term& term);
Term divide_exact(const Term& term, const Term& divisor);
// p / term; `term` must divide every part of p.
Polynomial divide_exact(const Polynomial& p, const Term& term);

struct Division {
  Polynomial quotient;
  Polynomial remainder;
};
// p == quotient * divisor + remainder. By a single term: terms that it divides go to the quotient,
// and coefficients of its own multiples are reduced toward zero (a constant p by a positive
// constant divisor rounds down, so that the constant of the remainder is in [0, divisor)). By a
// sum: multivariate long division.
Division divide(const Polynomial& p, const Polynomial& divisor);

}  // namespace tapml::arith
