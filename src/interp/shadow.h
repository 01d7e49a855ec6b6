// Running error bounds of tensor programs: every float that a program computes in its own dtypes
// has a shadow with its value in f64 and a bound on how far a correct implementation may be from
// that.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "ir/expr.h"

namespace tapml::interp {

struct Frame;
class ExprCompiler;

// The terms of a sum so far, and the variance of the roundings of its partial sums in the program's
// order.
struct SumTerms {
  double variance = 0;
  double first = 0, last = 0;  // terms
  // Terms, but for zeros; those that equal the first one, and those that equal the one before them.
  int64_t count = 0, as_first = 0, as_last = 0;

  void add(double term) {
    if (term == 0) return;
    if (count++ == 0) {
      first = last = term;
      return;
    }
    as_first += term == first ? 1 : 0;
    as_last += term == last ? 1 : 0;
    last = term;
  }
  void add(const SumTerms& other) {
    variance += other.variance;
    count += other.count;
    as_first += other.as_first;
    as_last += other.as_last;
  }
  // How often terms repeat (op::reference::Repetition), estimated from these.
  double repetition() const { return 1 + static_cast<double>(std::max(as_first, as_last)); }
};

// A value as the reference sees it. `moved` bounds the effect of the operands' own errors and
// single roundings; the roundings of a sum behave like a random walk, so their squares are kept
// separately, with the sum of the terms' magnitudes as their scale (docs/verdicts.md).
struct Shadow {
  double value = 0;
  double moved = 0;
  double squared_rounding = 0;
  double magnitude = 0;
  // The parts of an honest error, as op::RefTensor has them: the systematic one, and the variance
  // of the random one, without the roundings of a sum's partial sums.
  double systematic = 0;
  double variance = 0;
  SumTerms sum;
  // What the rounding of its operands adds where the target may round them: to a product, once it
  // is a term, and of products' sums the mean of truncation, which has the sign of the terms.
  double operand_variance = 0, operand_shift = 0;
  bool of_products = false;

  double bound() const;
  // The whole systematic part.
  double shift() const { return sum.count > 0 ? std::fabs(operand_shift) : 0; }
  double systematic_part() const { return systematic + shift(); }
  // Of the whole random part. Equal terms have equal errors (op::reference::Repetition).
  double random() const { return (variance + sum.variance) * sum.repetition(); }
  // The same where other elements, or other parts of an expression, have the same random error.
  Shadow shared() const;
  static Shadow exact(double value) { return {.value = value, .magnitude = std::fabs(value)}; }
  static Shadow unknown(double value) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return {
        .value = value, .moved = kInfinity, .magnitude = std::fabs(value), .systematic = kInfinity};
  }
};

struct ShadowCode {
  virtual ~ShadowCode() = default;
  virtual Shadow run(Frame& frame) const = 0;
};
using ShadowPtr = std::unique_ptr<ShadowCode>;

// Whether an integer or a truth value might differ within the bounds of the floats that it is
// computed from.
struct DoubtCode {
  virtual ~DoubtCode() = default;
  virtual bool run(Frame& frame) const = 0;
};
using DoubtPtr = std::unique_ptr<DoubtCode>;

// Shadow of a float expression.
ShadowPtr compile_shadow(ExprCompiler& compiler, const PrimExpr& expr);
// Doubt about an integer or bool expression; null if there can be none.
DoubtPtr compile_doubt(ExprCompiler& compiler, const PrimExpr& expr);

}  // namespace tapml::interp
