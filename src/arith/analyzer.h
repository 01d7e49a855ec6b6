// Symbolic integers: simplification, bounds and proofs.
//
// Arithmetic of i64 and i32 expressions (sizes and indices) is assumed not to overflow; floats get
// only exact, trivial folding; other integer types are only folded. An expression without a value
// (a zero divisor) may be simplified to anything. Results are deterministic, and
// simplify(simplify(e)) is simplify(e).
#pragma once

#include <memory>
#include <optional>

#include "arith/interval.h"
#include "ir/expr.h"

namespace tapml::arith {

// Facts about variables. Copy an analyzer to add facts in an inner scope. Copies share a cache, so
// use them in one thread. Facts accumulate: two facts about one variable both hold.
class Analyzer {
 public:
  Analyzer();
  Analyzer(const Analyzer& other);
  Analyzer& operator=(const Analyzer& other);
  Analyzer(Analyzer&&) noexcept;
  Analyzer& operator=(Analyzer&&) noexcept;
  ~Analyzer();

  // Adds lo <= var <= hi; an absent side is unbounded. For a symbolic dimension: bind(n, 0, {}).
  void bind(const Var& var, std::optional<int64_t> lo, std::optional<int64_t> hi);
  // Adds 0 <= var < extent, where `extent` uses variables that are already bound. Adds nothing
  // about the extent itself (a loop may run zero times).
  void bind_range(const Var& var, const PrimExpr& extent);
  // Assumes that the condition holds. Understands comparisons of integers that are linear in at
  // least one variable or product, x % c == r, `not`, and conjunctions; other conditions add
  // nothing.
  void assume(const PrimExpr& condition);

  // An equal expression in canonical form: sums of products such as n*4 + 1.
  PrimExpr simplify(const PrimExpr& expr);
  // An interval that contains every value of the integer expression.
  Interval bounds(const PrimExpr& expr);
  // True only if the condition holds for every value of the variables; false means "not proved".
  bool prove(const PrimExpr& condition);
  bool prove_equal(const PrimExpr& a, const PrimExpr& b);
  bool prove_less(const PrimExpr& a, const PrimExpr& b);
  bool prove_less_equal(const PrimExpr& a, const PrimExpr& b);
  bool prove_divisible(const PrimExpr& expr, int64_t divisor);
  // The value of the integer expression if it has only one.
  std::optional<int64_t> as_constant(const PrimExpr& expr);
  std::optional<int64_t> upper_bound(const PrimExpr& expr);
  std::optional<int64_t> lower_bound(const PrimExpr& expr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapml::arith
