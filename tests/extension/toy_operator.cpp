#include "toy_operator.h"

#include <cmath>

#include "op/elementwise.h"
#include "op/reference/elementwise.h"

namespace tapml::testing {

namespace {

// The loops compute one element.
PrimExpr softsign_of(PrimExpr x) {
  return op::bind("x", std::move(x), [](PrimExpr v) {
    return fdiv(v, op::number(1, v.dtype()) + op::intrinsic("abs", v));
  });
}

// The reference computes in f64; a correct kernel is within four units in the last place.
void softsign_reference(const AttrMap&, op::reference::Args args, op::reference::Outputs outputs) {
  op::reference::map_monotonic(args, outputs, [](double x) { return x / (1 + std::fabs(x)); });
}

}  // namespace

const op::OperatorInfo& softsign() {
  static const op::OperatorInfo kInfo =
      op::unary_operator("softsign", "x / (1 + |x|).", op::deduce_real,
                         op::legalize_real<softsign_of>, softsign_reference, op::all_dtypes());
  return kInfo;
}

const op::OperatorInfo* find_toy_operator(const std::string& name) {
  return name == softsign().name ? &softsign() : nullptr;
}

}  // namespace tapml::testing
