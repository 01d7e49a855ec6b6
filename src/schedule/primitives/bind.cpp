// bind: see primitives.h.
#include "schedule/primitives/mark.h"

namespace tapml::schedule::primitives {

using namespace tir;  // NOLINT: this file is about tir alone

PrimFuncRef bind(const PrimFunc& func, const Var& loop, const std::string& axis) {
  constexpr int64_t kMostThreads = 1024;
  Site site = serial_loop(func, loop, "bind");
  auto no = [&](const std::string& reason, const std::string& hint) {
    refuse("bind", "loop " + loop->name, reason, hint);
  };
  if (axis == "workgroup") {
    for (const Stmt& inner : loops_inside(site)) {
      const ForKind kind = as<ForNode>(inner).for_kind;
      if (kind != ForKind::kWorkgroup && kind != ForKind::kParallel) continue;
      no(std::string("the ") + for_kind_name(kind) + " loop " + as<ForNode>(inner).var->name +
             " is inside it",
         "bind the outer loop first");
    }
    if (const std::string why = why_no_grid_dimension(site); !why.empty()) {
      no(why, "bind an outermost loop to the work groups, then loops directly inside it");
    }
    require_independent(func, site, "bind");
    return with_kind(func, site, ForKind::kWorkgroup);
  }
  if (axis != "thread") no("there is no axis " + axis, "name workgroup or thread");
  const PrimExpr& extent = site.loop().extent;
  if (!extent.is_int() || extent->int_value > kMostThreads || extent->int_value < 1) {
    no("its extent " + to_string(extent) + " is not a constant from 1 to " +
           std::to_string(kMostThreads),
       "split it by a constant factor and bind the inner loop");
  }
  bool grouped = false;
  for (const Stmt& stmt : site.loops()) {
    ForKind kind = as<ForNode>(stmt).for_kind;
    grouped |= kind == ForKind::kWorkgroup;
    if (kind == ForKind::kThread) no("it is inside another thread loop", "fuse the two first");
  }
  for (const Stmt& inner : loops_inside(site)) {
    if (as<ForNode>(inner).for_kind == ForKind::kThread) {
      no("it contains a thread loop", "fuse the two first");
    }
  }
  if (!grouped) no("there is no work-group loop around it", "bind a loop around it to workgroup");
  require_independent(func, site, "bind");
  auto result = std::make_shared<PrimFunc>(*with_kind(func, site, ForKind::kThread));
  result->facts.workgroup_threads =
      std::max({func.facts.workgroup_threads, int64_t{1}, extent->int_value});
  return result;
}

}  // namespace tapml::schedule::primitives
