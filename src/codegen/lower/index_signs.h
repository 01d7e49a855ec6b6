// Where floor division of indices is the division of every language and machine.
#pragma once

#include <set>

#include "codegen/lower/device_func.h"

namespace tapml::codegen {

// What is known of the signs of a launch's index expressions, without a prover: dimensions, loop
// variables and items are not negative; where the body runs at all the extent of the launch, and
// with it each factor of that, is positive. For arithmetic that does not overflow.
class IndexSigns {
 public:
  explicit IndexSigns(const DeviceFunc& function);

  bool nonnegative(const PrimExpr& e) const;
  bool positive(const PrimExpr& e) const;
  // Whether the quotient or remainder `e` needs no care for signs and zeros.
  bool divides_plainly(const PrimExpr& e) const;

 private:
  void add_factors(const PrimExpr& extent);

  std::set<const ExprNode*> nonnegative_, positive_;  // variables
};

}  // namespace tapml::codegen
