// Buffers: typed, shaped memory that tensor programs load from and store to.
#pragma once

#include <memory>
#include <string>

#include "ir/expr.h"

namespace tapml::tir {

enum class Scope : uint8_t {
  kGlobal,  // device memory: parameters and workspaces
  kShared,  // memory of one work group
  kLocal,   // registers or stack of one invocation; shape must be constant
  // Registers of a matrix unit, held by the threads of a subgroup together: two constant
  // dimensions, used by matrix operations only (tir/matrix.h).
  kFragment,
};

const char* scope_name(Scope scope);  // "global", "shared", "local", "fragment"

// Row-major. Identity is the node; the name only serves readers.
struct BufferNode : Object {
  std::string name;
  DType dtype = DType::kF32;
  Dims shape;
  Scope scope = Scope::kGlobal;
  // Elements between neighbors in each dimension, if rows are padded (shared and local scope);
  // empty if the buffer is compact. A stride is at least the next one times its extent.
  Dims strides;
};

using Buffer = std::shared_ptr<const BufferNode>;

Buffer make_buffer(std::string name, DType dtype, Dims shape, Scope scope = Scope::kGlobal,
                   Dims strides = {});

// The element of `buffer` at one index per dimension; its dtype is the buffer's.
PrimExpr load(const Buffer& buffer, std::vector<PrimExpr> indices);
// The buffer of a kLoad expression.
Buffer load_buffer(const PrimExpr& expr);
// Elements between neighbors in the dimension.
PrimExpr stride_of(const Buffer& buffer, size_t dimension);
// Offset in elements.
PrimExpr linear_index(const Buffer& buffer, const std::vector<PrimExpr>& indices);
// Elements to reserve: the product of the dimensions, and the padding of strides.
PrimExpr buffer_size(const Buffer& buffer);

}  // namespace tapml::tir
