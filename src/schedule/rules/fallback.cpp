#include "schedule/rules/rules.h"

namespace tapml::schedule {

LaunchPlan one_item_a_point(const Stage& stage) {
  Var item = make_var("item");
  tir::Stmt body = emit_point(stage, decode(stage.spatial, item));
  return {tir::make_for(item, product(stage.spatial), body, tir::ForKind::kParallel), "fallback"};
}

}  // namespace tapml::schedule
