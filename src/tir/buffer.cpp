#include "tir/buffer.h"

#include "ir/exceptions.h"

namespace tapml::tir {

const char* scope_name(Scope scope) {
  switch (scope) {
    case Scope::kGlobal:
      return "global";
    case Scope::kShared:
      return "shared";
    case Scope::kLocal:
      return "local";
    case Scope::kFragment:
      return "fragment";
  }
  return "global";
}

Buffer make_buffer(std::string name, DType dtype, Dims shape, Scope scope, Dims strides) {
  auto node = std::make_shared<BufferNode>();
  node->name = std::move(name);
  node->dtype = dtype;
  node->shape = std::move(shape);
  node->scope = scope;
  node->strides = std::move(strides);
  return node;
}

PrimExpr load(const Buffer& buffer, std::vector<PrimExpr> indices) {
  if (indices.size() != buffer->shape.size()) {
    throw_internal("load of buffer " + buffer->name + " with " + std::to_string(indices.size()) +
                   " indices; it has " + std::to_string(buffer->shape.size()) + " dimensions");
  }
  return make_node(ExprKind::kLoad, buffer->dtype, std::move(indices), "", buffer);
}

Buffer load_buffer(const PrimExpr& expr) {
  return std::static_pointer_cast<const BufferNode>(expr->object);
}

PrimExpr stride_of(const Buffer& buffer, size_t dimension) {
  if (!buffer->strides.empty()) return buffer->strides[dimension];
  PrimExpr stride = 1;
  for (size_t d = dimension + 1; d < buffer->shape.size(); ++d) stride = stride * buffer->shape[d];
  return stride;
}

PrimExpr linear_index(const Buffer& buffer, const std::vector<PrimExpr>& indices) {
  PrimExpr index = 0;
  if (buffer->strides.empty()) {
    for (size_t i = 0; i < indices.size(); ++i) index = index * buffer->shape[i] + indices[i];
  } else {
    for (size_t i = 0; i < indices.size(); ++i) index = index + indices[i] * buffer->strides[i];
  }
  return index;
}

PrimExpr buffer_size(const Buffer& buffer) {
  if (!buffer->strides.empty()) return buffer->shape[0] * buffer->strides[0];
  PrimExpr size = 1;
  for (const PrimExpr& dim : buffer->shape) size = size * dim;
  return size;
}

}  // namespace tapml::tir
