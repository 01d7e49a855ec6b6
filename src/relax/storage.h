// Operators that give storage a meaning: writes, and views that share what they look at. They are
// impure and stand outside dataflow blocks.
//
//   assign(x, y)                          the elements of y go where those of x are
//   assign_slice(x, y, shape(begin...))   ... into the part of x that begins there
//   view_reshape(x, shape(...))           x's elements under another shape; x is compact
//   view_slice(x, shape(begin...), shape(size...))
//   view_transpose(x) {axes: [...]}       axis i of the view is axis axes[i] of x
//
// A write is seen through every variable that shares the storage. Writes have no value: they are
// bound to a variable of annotation Tuple().
#pragma once

#include "relax/expr.h"

namespace tapml::relax {

enum class StorageOp { kNone, kAssign, kAssignSlice, kViewReshape, kViewSlice, kViewTranspose };

// Which of them `expr` calls.
StorageOp storage_op(const Expr& expr);
StorageOp storage_op(const CallNode& call);
bool is_write(StorageOp op);
bool is_storage_view(StorageOp op);

// Annotation of the call from its operands alone. UserError for a wrong number or kind of operands.
Annotation deduce_storage_op(const CallNode& call);

}  // namespace tapml::relax
