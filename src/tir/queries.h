// Questions about buffers, and about the scalar expressions that read them.
#pragma once

#include <optional>

#include "ir/queries.h"
#include "tir/buffer.h"

namespace tapml::tir {

// buffer_size() if all dimensions and strides are constant; 0 if the product overflows.
inline std::optional<int64_t> constant_size(const Buffer& buffer) {
  Dims extents = buffer->shape;
  if (!buffer->strides.empty()) extents = {buffer->shape[0], buffer->strides[0]};
  int64_t elements = 1;
  for (const PrimExpr& extent : extents) {
    if (!extent.is_int()) return std::nullopt;
    if (__builtin_mul_overflow(elements, extent->int_value, &elements)) return 0;
  }
  return elements;
}

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
