#include "codegen/lower/index_signs.h"

#include <algorithm>

#include "tir/visit.h"

namespace tapml::codegen {

IndexSigns::IndexSigns(const DeviceFunc& function) {
  // Only scalars that are dimensions are nonnegative: others may be any number.
  for (const tir::Param& param : function.buffers) {
    for (const PrimExpr& dim : param.buffer->shape) {
      if (dim.kind() == ExprKind::kVar) nonnegative_.insert(dim.get());
    }
  }
  for (size_t i = 0; i < function.least.size(); ++i) {
    if (function.least[i] && *function.least[i] >= 0)
      nonnegative_.insert(function.scalars[i].get());
  }
  if (function.item) nonnegative_.insert(function.item.get());
  if (function.thread) nonnegative_.insert(function.thread.get());
  tir::visit(function.body, [this](const tir::Stmt& s) {
    if (s->kind == tir::StmtKind::kFor) nonnegative_.insert(tir::as<tir::ForNode>(s).var.get());
  });
  for (const Var& scalar : function.positive) positive_.insert(scalar.get());
  for (const auto& [name, value] : function.coordinates) nonnegative_.insert(name.get());
  add_factors(function.extent);
}

void IndexSigns::add_factors(const PrimExpr& extent) {
  if (extent.kind() == ExprKind::kMul) {
    // If both factors may be negative, nothing follows.
    if (!nonnegative(extent.operand(0)) || !nonnegative(extent.operand(1))) return;
    add_factors(extent.operand(0));
    add_factors(extent.operand(1));
  } else if (extent.kind() == ExprKind::kVar) {
    positive_.insert(extent.get());
  }
}

bool IndexSigns::nonnegative(const PrimExpr& e) const {
  switch (e.kind()) {
    case ExprKind::kInt:
      return e->int_value >= 0;
    case ExprKind::kVar:
      return nonnegative_.contains(e.get()) || positive_.contains(e.get());
    case ExprKind::kCast:
      return is_integer(e.operand(0).dtype()) && nonnegative(e.operand(0));
    case ExprKind::kAdd:
    case ExprKind::kMul:
    case ExprKind::kMin:
    case ExprKind::kFloorDiv:
      return nonnegative(e.operand(0)) && nonnegative(e.operand(1));
    case ExprKind::kMax:
      return nonnegative(e.operand(0)) || nonnegative(e.operand(1));
    case ExprKind::kFloorMod:  // has the sign of the divisor
      return nonnegative(e.operand(1));
    case ExprKind::kSelect:
      return nonnegative(e.operand(1)) && nonnegative(e.operand(2));
    default:
      return false;
  }
}

bool IndexSigns::positive(const PrimExpr& e) const {
  switch (e.kind()) {
    case ExprKind::kInt:
      return e->int_value > 0;
    case ExprKind::kVar:
      return positive_.contains(e.get());
    case ExprKind::kCast:
      return is_integer(e.operand(0).dtype()) && positive(e.operand(0));
    case ExprKind::kMul:
    case ExprKind::kMin:
      return positive(e.operand(0)) && positive(e.operand(1));
    case ExprKind::kAdd:
      return (positive(e.operand(0)) && nonnegative(e.operand(1))) ||
             (nonnegative(e.operand(0)) && positive(e.operand(1)));
    case ExprKind::kMax:
      return positive(e.operand(0)) || positive(e.operand(1));
    case ExprKind::kSelect:
      return positive(e.operand(1)) && positive(e.operand(2));
    default:
      return false;
  }
}

bool IndexSigns::divides_plainly(const PrimExpr& e) const {
  const bool divides = e.kind() == ExprKind::kFloorDiv || e.kind() == ExprKind::kFloorMod;
  return divides && nonnegative(e.operand(0)) && positive(e.operand(1));
}

}  // namespace tapml::codegen
