// The least and the largest value of index expressions, as functions of a kernel's scalars.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "arith/analyzer.h"
#include "ir/expr.h"

namespace tapml::codegen {

// lo <= value <= hi, both i64 expressions over scalars; null where nothing is known. What never
// runs (a loop of no iterations) has any bounds.
struct IndexRange {
  PrimExpr lo, hi;
  bool known() const { return static_cast<bool>(lo); }
};

class IndexBounds {
 public:
  // The scalars are at most `most`, and at least what `least` has for them, or -1 - most.
  IndexBounds(const std::vector<Var>& scalars, const std::vector<std::optional<int64_t>>& least,
              int64_t most);

  // What a variable can be; scalars are known.
  void bind(const Var& var, const IndexRange& range);
  // Adds what follows for the two sides of comparisons in `condition` where it is `truth`. What is
  // learnt is forgotten by reset(mark() of before).
  void learn(const PrimExpr& condition, bool truth);
  size_t mark() const { return learnt_.size(); }
  void reset(size_t mark);

  // Of an integer expression; unknown where it holds loads of 64 bits, floats or calls. Data of
  // fewer bits may have any value of its type.
  IndexRange range(const PrimExpr& e);

  arith::Analyzer& analyzer() { return analyzer_; }

 private:
  struct Learnt {
    PrimExpr expr;
    PrimExpr lo, hi;  // either may be null
  };

  IndexRange computed(const PrimExpr& e);
  IndexRange own(const PrimExpr& e);
  // Of nothing but scalars, whose value the launcher knows.
  bool known_to_host(const PrimExpr& e) const;
  IndexRange product(const IndexRange& a, const IndexRange& b);
  IndexRange quotient(const IndexRange& a, const IndexRange& b, bool remainder);
  bool nonnegative(const PrimExpr& e) { return analyzer_.prove_less_equal(0, e); }
  PrimExpr simple(const PrimExpr& e);

  arith::Analyzer analyzer_;
  VarMap lows_, highs_;
  std::vector<Learnt> learnt_;
  // Under what is learnt now, of nodes that are kept: who asks for all nodes of an expression asks
  // for the inner ones again and again.
  std::map<const ExprNode*, std::pair<PrimExpr, IndexRange>> ranges_;
};

}  // namespace tapml::codegen
