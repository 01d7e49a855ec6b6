// Operators on storage: writes, and views that share their operand's storage. They are impure and
// must be outside dataflow blocks.
//
//   assign(x, y)                          replaces the elements of x by those of y
//   assign_slice(x, y, shape(begin...))   the same for the part of x from `begin` on
//   view_reshape(x, shape(...))           x's elements in another shape; x is compact
//   view_slice(x, shape(begin...), shape(size...))
//   view_transpose(x) {axes: [...]}       axis i of the view is axis axes[i] of x
//
// A write is visible through every variable that shares the storage. Writes have no value: they are
// bound to a variable with annotation Tuple().
//
// The code that the compiler makes of them queries the layout of tensors. Queries have no effects
// and are allowed anywhere:
//
//   storage.base(x)             the tensor that x is a view of, as a vector; x itself if not a view
//   storage.layout(x)           shape(first element of the base, stride of each axis), in elements
//   storage.is_tensor(x)        whether x is a tensor or a view with contiguous elements
//   storage.check_assign(x, y)  Tuple(); an error if x and y differ in shape or dtype
#pragma once

#include "relax/expr.h"

namespace tapml::relax {

enum class StorageOp {
  kNone,
  kAssign,
  kAssignSlice,
  kViewReshape,
  kViewSlice,
  kViewTranspose,
  kBase,
  kLayout,
  kIsTensor,
  kCheckAssign,
};

// Which of them `expr` calls.
StorageOp storage_op(const Expr& expr);
StorageOp storage_op(const CallNode& call);
bool is_write(StorageOp op);
// Whether the result shares the storage of the first operand.
bool is_storage_view(StorageOp op);
// Whether it is allowed in dataflow blocks and pure functions.
bool is_storage_question(StorageOp op);

// Deduces the annotation of the call from its operands. UserError for a wrong number or kind of
// operands.
Annotation deduce_storage_op(const CallNode& call);

}  // namespace tapml::relax
