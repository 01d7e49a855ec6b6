// vectorize: see primitives.h.
#include "schedule/primitives/mark.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

PrimFuncRef vectorize(const PrimFunc& func, const Var& loop) {
  Site site = serial_loop(func, loop, "vectorize");
  std::string why = why_not_lanes(func, site);
  if (!why.empty()) {
    refuse("vectorize", "loop " + loop->name, why,
           "vectorize an innermost loop over elements, or decompose the reduction first");
  }
  return with_kind(func, site, ForKind::kVectorized);
}

}  // namespace tapml::schedule::primitives
