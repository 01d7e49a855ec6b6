// parallel: see primitives.h.
#include "schedule/primitives/mark.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

PrimFuncRef parallel(const PrimFunc& func, const Var& loop) {
  Site site = serial_loop(func, loop, "parallel");
  require_only_launch_axis(site, "parallel");
  require_independent(func, site, "parallel");
  return with_kind(func, site, ForKind::kParallel);
}

}  // namespace tapml::schedule::primitives
