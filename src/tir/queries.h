// Questions about the buffers that scalar expressions read.
#pragma once

#include "ir/queries.h"
#include "tir/buffer.h"

namespace tapml::tir {

inline bool is_load_of(const PrimExpr& expr, const BufferNode* buffer) {
  return expr.kind() == ExprKind::kLoad &&
         static_cast<const BufferNode*>(expr->object.get()) == buffer;
}
inline bool is_load_of(const PrimExpr& expr, const Buffer& buffer) {
  return is_load_of(expr, buffer.get());
}

// Whether the expression loads from `buffer`, at any depth.
inline bool reads(const PrimExpr& expr, const BufferNode* buffer) {
  return any_node(expr, [&](const PrimExpr& e) { return is_load_of(e, buffer); });
}
inline bool reads(const PrimExpr& expr, const Buffer& buffer) { return reads(expr, buffer.get()); }

}  // namespace tapml::tir
