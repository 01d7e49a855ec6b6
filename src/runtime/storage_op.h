// Views of tensors, and where tensors lie: what kStorage instructions do.
#pragma once

#include "exec/executable.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::runtime {

// Does one of the operations on `of`, a tensor or a view. `operands`: the other registers that it
// reads; `axes`: of kTranspose. Views whose elements lie together, in order, are tensors at an
// offset; others are View values. UserError, whose place is the caller's to say, for what is no
// tensor, a part outside of it, a reshape of what does not lie together or has another number of
// elements, an assignment of another shape or dtype.
Result<Value> storage_operation(StorageAction action, const Value& of,
                                std::span<const Value* const> operands,
                                std::span<const int32_t> axes) noexcept;

// `value` with a tensor of its own in place of each View in it, in tuples too. Waits where there is
// one. Function values keep what they captured.
Result<Value> without_views(const Value& value, Session& session) noexcept;

}  // namespace tapml::runtime
