// Sizes of storages and offsets inside of them, compared symbolically.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "arith/analyzer.h"

namespace tapml::passes {

// Upper bounds of symbolic variables: by name, and by variable.
using Bounds = std::map<std::string, int64_t>;
using VarBounds = std::map<const tapml::ExprNode*, int64_t>;

// Sizes in bytes by number: equal ones have one number, and comparisons and sums are cached,
// because a model repeats few sizes in many layers. A maximum of several sizes is a set of terms;
// sums and alignment apply to each term, and comparison goes term by term: the prover sees one term
// of either side, however many unrelated sizes share a storage.
class Sizes {
 public:
  // Every symbolic variable is at least its own lower bound (ir/symbol.h), and at most its entry in
  // `bounds` if there is one by the time the variable is first seen.
  explicit Sizes(const VarBounds& bounds) : bounds_(bounds) {}

  int32_t add(const PrimExpr& bytes);
  // The greater of two: one of them if that is proved.
  int32_t join(int32_t a, int32_t b);
  // Whether the maximum of two is still quick to reason about and to evaluate.
  bool may_join(int32_t a, int32_t b) const;
  // a + b; -1 where a constant sum is beyond 64 bits, or the sum is not quick to reason about.
  int32_t sum(int32_t a, int32_t b);
  // The next aligned offset at or after `a`; -1 as above.
  int32_t aligned(int32_t a);
  // True only if proved.
  bool at_most(int32_t a, int32_t b);
  // False where at_most() is certain to be false; needs only a few comparisons.
  bool may_be_at_most(int32_t a, int32_t b) const;
  const PrimExpr& bytes(int32_t size) const { return entries_[static_cast<size_t>(size)].bytes; }
  // Its upper bound, if known; a multiple of 16.
  std::optional<int64_t> most(int32_t size) const {
    return entries_[static_cast<size_t>(size)].most;
  }
  // Its value at plausible values of the variables: chooses between plans, never decides whether
  // one is correct.
  double typical(int32_t size) const { return entries_[static_cast<size_t>(size)].typical; }

 private:
  using Symbols = std::vector<const tapml::ExprNode*>;  // in the order of their addresses
  struct Entry {
    PrimExpr bytes;
    Symbols symbols;
    Symbols unlimited;  // those that make it arbitrarily large
    std::optional<int64_t> most;
    double typical = 0;
    std::optional<int64_t> least;  // its value where every variable is 0, if it has one
    size_t occurrences = 0;        // of variables
    std::vector<int32_t> terms;    // of a maximum, in order; else empty
    int32_t aligned = -1;          // its number once known
  };
  // Makes the symbols of these expressions known, until it is called again.
  arith::Analyzer& analyzer(const PrimExpr& a, const PrimExpr& b = {});
  void learn(const PrimExpr& expr, arith::Analyzer& analyzer) const;
  void add_unlimited(const PrimExpr& expr, Symbols& into) const;
  int32_t add_constant(int64_t bytes);
  int32_t add_symbolic(const PrimExpr& bytes);
  // The maximum of sizes and of their terms.
  int32_t add_greatest(const std::vector<int32_t>& sizes);
  std::vector<int32_t> terms(int32_t size) const;
  int32_t sum_of_terms(const std::vector<int32_t>& a, const std::vector<int32_t>& b);
  bool has_terms(int32_t size) const { return !entry(size).terms.empty(); }
  bool may_combine(int32_t a, int32_t b, size_t occurrences) const;
  const Entry& entry(int32_t size) const { return entries_[static_cast<size_t>(size)]; }
  static uint64_t key(int32_t a, int32_t b) {
    return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
  }

  const VarBounds& bounds_;
  // One for all while there are few symbols. Proofs get slower with more symbols, so queries about
  // many use an analyzer of their own.
  arith::Analyzer shared_, own_;
  std::set<const tapml::ExprNode*> known_;  // to the shared one
  std::vector<Entry> entries_;
  std::unordered_map<int64_t, int32_t> constants_;
  std::unordered_multimap<size_t, std::pair<PrimExpr, int32_t>> known_sizes_;  // by hash
  std::map<std::pair<double, Symbols>, std::vector<int32_t>> alike_;
  std::map<std::vector<int32_t>, int32_t> greatest_;  // by terms
  std::unordered_map<uint64_t, bool> at_most_;
  std::unordered_map<uint64_t, int32_t> joins_, sums_;
};

// Bytes of a tensor, padded to 16.
PrimExpr storage_bytes(const Dims& shape, DType dtype);

}  // namespace tapml::passes
