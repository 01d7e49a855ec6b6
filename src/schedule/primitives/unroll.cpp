// unroll: see primitives.h.
#include "schedule/primitives/mark.h"
#include "tir/unrolled.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

PrimFuncRef unroll(const PrimFunc& func, const Var& loop) {
  Site site = serial_loop(func, loop, "unroll");
  const PrimExpr& extent = site.loop().extent;
  if (!extent.is_int()) {
    refuse("unroll", "loop " + loop->name, "its extent " + to_string(extent) + " is not constant",
           "split it by a constant factor and unroll the inner loop");
  }
  if (extent->int_value > kMostUnrolled) {
    refuse("unroll", "loop " + loop->name,
           "its extent " + to_string(extent) + " is above " + std::to_string(kMostUnrolled),
           "split it and unroll the inner loop");
  }
  PrimFuncRef result = with_kind(func, site, ForKind::kUnrolled);
  if (unrolled_copies(result->body) > kMostUnrolledTogether) {
    refuse("unroll", "loop " + loop->name,
           "together with the unrolled loops around and inside it there are more than " +
               std::to_string(kMostUnrolledTogether) + " iterations",
           "leave one of them serial");
  }
  return result;
}

}  // namespace tapml::schedule::primitives
