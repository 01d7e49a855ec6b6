#include "schedule/rules/access.h"

#include "arith/analyzer.h"

namespace tapml::schedule {

std::optional<int64_t> stride_of(const PrimExpr& index, const Var& var) {
  arith::Analyzer analyzer;
  return analyzer.as_constant(tapml::substitute(index, {{var.get(), var + 1}}) - index);
}

bool runs_along(const Stage& stage, const Var& var) {
  bool some = false, all = true;
  visit_expr(stage.value, [&](const PrimExpr& e) {
    if (e.kind() != ExprKind::kLoad || tir::load_buffer(e) == stage.out || e->operands.empty()) {
      return;
    }
    for (size_t i = 0; i < e->operands.size(); ++i) {
      std::optional<int64_t> stride = stride_of(e->operands[i], var);
      const bool last = i + 1 == e->operands.size();
      all &= stride == std::optional<int64_t>(0) || (last && stride == std::optional<int64_t>(1));
      some |= last && stride == std::optional<int64_t>(1);
    }
  });
  return some && all;
}

}  // namespace tapml::schedule
