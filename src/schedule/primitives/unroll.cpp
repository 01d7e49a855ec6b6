// unroll: see primitives.h.
#include "schedule/primitives/mark.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

PrimFuncRef unroll(const PrimFunc& func, const Var& loop) {
  constexpr int64_t kMost = 256;
  Site site = serial_loop(func, loop, "unroll");
  const PrimExpr& extent = site.loop().extent;
  if (!extent.is_int()) {
    refuse("unroll", "loop " + loop->name, "its extent " + to_string(extent) + " is not constant",
           "split it by a constant factor and unroll the inner loop");
  }
  if (extent->int_value > kMost) {
    refuse("unroll", "loop " + loop->name,
           "its extent " + to_string(extent) + " is above " + std::to_string(kMost),
           "split it and unroll the inner loop");
  }
  return with_kind(func, site, ForKind::kUnrolled);
}

}  // namespace tapml::schedule::primitives
