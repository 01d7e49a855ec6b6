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
};

const char* scope_name(Scope scope);  // "global", "shared", "local"

// Compact row-major. Identity is the node; the name only serves readers.
struct BufferNode : Object {
  std::string name;
  DType dtype = DType::kF32;
  Dims shape;
  Scope scope = Scope::kGlobal;
};

using Buffer = std::shared_ptr<const BufferNode>;

Buffer make_buffer(std::string name, DType dtype, Dims shape, Scope scope = Scope::kGlobal);

// The element of `buffer` at one index per dimension; its dtype is the buffer's.
PrimExpr load(const Buffer& buffer, std::vector<PrimExpr> indices);
// The buffer of a kLoad expression.
Buffer load_buffer(const PrimExpr& expr);
// Row-major offset in elements.
PrimExpr linear_index(const Buffer& buffer, const std::vector<PrimExpr>& indices);
// Product of the dimensions.
PrimExpr buffer_size(const Buffer& buffer);

}  // namespace tapml::tir
