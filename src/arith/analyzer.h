// Symbolic integers: simplification, bounds and proofs.
//
// Arithmetic of i64 and i32 expressions is taken as free of overflow (sizes and indices); floats
// are left alone except for exact, trivial folding; other integer types are only folded. Whatever
// has no value (a zero divisor) may be simplified to anything. Results are deterministic, and
// simplify(simplify(e)) is simplify(e).
#pragma once

#include <memory>
#include <optional>

#include "arith/interval.h"
#include "ir/expr.h"

namespace tapml::arith {

// Facts about variables, passed by value or reference to who needs them; copy one to learn more in
// an inner scope. Copies share a cache, so use them in one thread. Facts only add up: what is
// reported twice about a variable holds together.
class Analyzer {
 public:
  Analyzer();
  Analyzer(const Analyzer& other);
  Analyzer& operator=(const Analyzer& other);
  Analyzer(Analyzer&&) noexcept;
  Analyzer& operator=(Analyzer&&) noexcept;
  ~Analyzer();

  // lo <= var <= hi, either side absent when unknown. A symbolic dimension: bind(n, 0, {}).
  void bind(const Var& var, std::optional<int64_t> lo, std::optional<int64_t> hi);
  // 0 <= var < extent, the extent over variables that are bound before. Says nothing about the
  // extent itself (a loop may run zero times).
  void bind_range(const Var& var, const PrimExpr& extent);
  // The condition holds. Understands comparisons of integers that are linear in at least one
  // variable or product, x % c == r, `not`, and conjunctions; others add nothing.
  void assume(const PrimExpr& condition);

  // An equal expression in canonical form: sums of products such as n*4 + 1.
  PrimExpr simplify(const PrimExpr& expr);
  // Contains every value of the integer expression.
  Interval bounds(const PrimExpr& expr);
  // True only if it holds for every value of the variables; false says nothing.
  bool prove(const PrimExpr& condition);
  bool prove_equal(const PrimExpr& a, const PrimExpr& b);
  bool prove_less(const PrimExpr& a, const PrimExpr& b);
  bool prove_less_equal(const PrimExpr& a, const PrimExpr& b);
  bool prove_divisible(const PrimExpr& expr, int64_t divisor);
  // The value, when the integer expression has only one.
  std::optional<int64_t> as_constant(const PrimExpr& expr);
  std::optional<int64_t> upper_bound(const PrimExpr& expr);
  std::optional<int64_t> lower_bound(const PrimExpr& expr);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tapml::arith
