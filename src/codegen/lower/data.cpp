#include "codegen/lower/data.h"

#include <algorithm>

namespace tapml::codegen {

bool is_data(const PrimExpr& e, const std::function<bool(const PrimExpr&)>& is_data_var) {
  switch (e.kind()) {
    case ExprKind::kInt:
      return false;
    case ExprKind::kVar:
      return is_float(e.dtype()) || is_data_var(e);
    case ExprKind::kLoad:
    case ExprKind::kFloat:
      return true;
    case ExprKind::kCast:  // a cast to its own type marks the end of index arithmetic
      if (e.dtype() == e.operand(0).dtype()) return true;
      return is_data(e.operand(0), is_data_var);
    case ExprKind::kSelect:
      return is_data(e.operand(1), is_data_var) || is_data(e.operand(2), is_data_var);
    default:
      return std::ranges::any_of(e->operands,
                                 [&](const PrimExpr& part) { return is_data(part, is_data_var); });
  }
}

}  // namespace tapml::codegen
