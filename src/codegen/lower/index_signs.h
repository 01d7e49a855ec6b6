// Finds floor divisions of indices that any language's division operator implements.
#pragma once

#include <set>

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

// Known signs of a launch's index expressions, without a prover: dimensions, loop variables and
// items are nonnegative; if the body runs at all, the launch's extent and each of its factors are
// positive. Valid for arithmetic that does not overflow.
class IndexSigns {
 public:
  explicit IndexSigns(const DeviceFunc& function);

  bool nonnegative(const PrimExpr& e) const;
  bool positive(const PrimExpr& e) const;
  // Whether the quotient or remainder `e` needs no handling of signs and zeros.
  bool divides_plainly(const PrimExpr& e) const;

 private:
  void add_factors(const PrimExpr& extent);

  std::set<const ExprNode*> nonnegative_, positive_;  // variables
};

}  // namespace tapml::codegen
