// Operators on storage: writes, and views that share their operand's storage. They are impure and
// must be outside dataflow blocks.
//
//   assign(x, y)                          the elements of y go where those of x are
//   assign_slice(x, y, shape(begin...))   ... into the part of x that begins there
//   view_reshape(x, shape(...))           x's elements under another shape; x is compact
//   view_slice(x, shape(begin...), shape(size...))
//   view_transpose(x) {axes: [...]}       axis i of the view is axis axes[i] of x
//
// A write is visible through every variable that shares the storage. Writes have no value: they are
// bound to a variable with annotation Tuple().
//
// The compiler lowers them to queries about the layout of tensors. These have no effects and are
// allowed anywhere:
//
//   storage.base(x)             the tensor that x is a view of, as a vector; x itself if it is none
//   storage.layout(x)           shape(first element of the base, stride of each axis), in elements
//   storage.is_tensor(x)        whether x is a tensor, and no view whose elements lie apart
//   storage.check_assign(x, y)  Tuple(); an error where x and y differ in shape or dtype
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
