// Patterns over graph operators, for custom fusion and partial library lowering (Relax paper,
// sections 4.4 and 4.6).
//
// A pattern is a function with the attribute "pattern", whose body is one dataflow block of calls:
//
//   def attention(q: Tensor((b, h, m, d), f32), k: Tensor((b, h, n, d), f32),
//                 v: Tensor((b, h, n, d), f32), c: Prim(bool, d <= 128)) -> Object {pattern: true}
//                 {
//     dataflow {
//       s: Object = matmul(q, k) {transpose_b: true}
//       p: Object = softmax(s) {axis: -1}
//       o: Object = matmul(p, v)
//       output o
//     }
//     return o
//   }
//
// - A parameter matches any value that certainly has its annotation; a symbolic variable matches
//   one expression throughout.
// - A parameter Prim(bool, c) matches no value: it is a condition, which must be provable at the
//   call site, for all values of the caller's symbolic variables.
// - An operator matches itself, or any of the names in `op "relu|silu"(x)`. Attributes that the
//   pattern writes must be equal, others may be anything. Operands of commutative operators match
//   in either order.
// - Only the returned value may be used outside of a match.
//
// build/pattern_builder.h builds the same function in C++.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "relax/visit.h"

namespace tapml::build {

bool is_pattern(const BaseFunction* function);

// Throws UserError if the function can match nothing: it is not one dataflow block of operator
// calls, or has unknown operators or bindings that the result does not need.
void check_pattern(const relax::Function& pattern, const std::string& name);

struct Match {
  // Indices of the matched bindings in the block, in order; the last one's variable is the value of
  // the match.
  std::vector<size_t> members;
  // The expressions that match the pattern's parameters; null for conditions.
  std::vector<relax::Expr> arguments;
  // The pattern's symbolic variables over the caller's.
  VarMap symbols;
};

// Finds matches in one dataflow block.
class PatternMatcher {
 public:
  // `uses` covers the whole function that contains the block. Both must outlive the matcher.
  PatternMatcher(const relax::Block& block, const std::map<const relax::VarNode*, int>& uses);

  // The match whose last operator is binding `last`, if any. The pattern must have passed
  // check_pattern.
  std::optional<Match> match(const relax::Function& pattern, size_t last) const;

 private:
  friend class PatternTrial;
  const relax::Block& block_;
  const std::map<const relax::VarNode*, int>& uses_;
  std::map<const relax::VarNode*, size_t> producer_;
};

}  // namespace tapml::build
