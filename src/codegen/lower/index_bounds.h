// Minimum and maximum of index expressions, as functions of a kernel's scalars.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "arith/analyzer.h"
#include "ir/expr.h"

namespace tapml::codegen {

// lo <= value <= hi, both i64 expressions over scalars; null if unknown. Code that never runs (a
// loop of no iterations) has arbitrary bounds.
struct IndexRange {
  PrimExpr lo, hi;
  bool known() const { return static_cast<bool>(lo); }
};

class IndexBounds {
 public:
  // The scalars are at most `most`, and at least their value in `least`, or -1 - most without one.
  IndexBounds(const std::vector<Var>& scalars, const std::vector<std::optional<int64_t>>& least,
              int64_t most);

  // Sets the range of a variable; the ranges of scalars are known.
  void bind(const Var& var, const IndexRange& range);
  // Adds what the comparisons in `condition` imply for their operands if it evaluates to `truth`.
  // reset(), with an earlier mark(), undoes this.
  void learn(const PrimExpr& condition, bool truth);
  size_t mark() const { return learnt_.size(); }
  void reset(size_t mark);

  // Range of an integer expression; unknown if it contains 64-bit loads, floats or calls. Narrower
  // data may have any value of its type.
  IndexRange range(const PrimExpr& e);

  arith::Analyzer& analyzer() { return analyzer_; }

 private:
  struct Learnt {
    PrimExpr expr;
    PrimExpr lo, hi;  // either may be null
  };

  IndexRange computed(const PrimExpr& e);
  IndexRange own(const PrimExpr& e);
  // Whether `e` contains only scalars, whose values the launcher knows.
  bool known_to_host(const PrimExpr& e) const;
  IndexRange product(const IndexRange& a, const IndexRange& b);
  IndexRange quotient(const IndexRange& a, const IndexRange& b, bool remainder);
  bool nonnegative(const PrimExpr& e) { return analyzer_.prove_less_equal(0, e); }
  PrimExpr simple(const PrimExpr& e);

  arith::Analyzer analyzer_;
  VarMap lows_, highs_;
  std::vector<Learnt> learnt_;
  // Memoizes ranges under the current facts, keyed by node (kept alive): computing the range of
  // every node of an expression asks for inner nodes repeatedly.
  std::map<const ExprNode*, std::pair<PrimExpr, IndexRange>> ranges_;
};

}  // namespace tapml::codegen
