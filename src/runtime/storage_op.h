// Implements the kStorage instructions: views of tensors and the placement of tensors.
#pragma once

#include "exec/executable.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::runtime {

// Performs an operation on `of`, a tensor or a view. `operands`: the other registers that it reads;
// `axes`: for kTranspose. Views of contiguous, ordered elements become tensors at an offset; others
// are View values. Returns a UserError, whose place the caller sets, for a value that is not a
// tensor, a part outside of it, a reshape of non-contiguous elements or to another element count,
// or an assignment of another shape or dtype.
Result<Value> storage_operation(StorageAction action, const Value& of,
                                std::span<const Value* const> operands,
                                std::span<const int32_t> axes) noexcept;

// Replaces each View in `value`, also in tuples, by a new tensor. Waits if there is one. Function
// values keep their captured values.
Result<Value> without_views(const Value& value, Session& session) noexcept;

}  // namespace tapml::runtime
