// Storage in the interpreter: views of tensors, and writes through them.
#pragma once

#include "interp/item.h"
#include "relax/storage.h"

namespace tapml::interp {

// Refreshes the copies of the views in `item`: their storage may have been written.
void refresh(Item& item);

// Processes the `result` of a call whose output j updates argument inout[j] (-1 for none): writes
// updated views back to their storage and returns the views as outputs.
Item updated_views(const std::vector<int64_t>& inout, std::vector<Item>& args, Item result);

// Evaluates one of the storage operators. UserError, whose location the caller adds, for shapes
// that do not agree, parts outside a tensor, and a view_reshape of a tensor that is not compact.
Item call_storage(relax::StorageOp op, const relax::CallNode& call, const std::vector<Item>& args);

}  // namespace tapml::interp
