#include "schedule/rules/rules.h"

namespace tapml::schedule {

std::optional<LaunchPlan> cpu_reduction(const Stage& stage) {
  if (!stage.simple || !stage.reduces()) return std::nullopt;
  // Lanes stay inside the item.
  std::vector<tir::BlockIter> outer = stage.spatial;
  if (runs_along_lane(stage)) outer.pop_back();
  Var item = make_var("item");
  tir::Stmt body = emit_nest(stage, outer.size(), decode(outer, item), true);
  return LaunchPlan{tir::make_for(item, product(outer), body, tir::ForKind::kParallel),
                    "cpu_reduction"};
}

}  // namespace tapml::schedule
