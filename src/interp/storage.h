// Storage in the interpreter: views of tensors, and writes through them.
#pragma once

#include "interp/item.h"
#include "relax/storage.h"

namespace tapml::interp {

// Copies anew what the views in `item` show: their storage may have been written.
void refresh(Item& item);

// `result` of a call whose output j updates argument inout[j] (-1: it does not): what became of
// views goes to their storage, and the outputs are the views.
Item updated_views(const std::vector<int64_t>& inout, std::vector<Item>& args, Item result);

// Evaluates one of the storage operators. UserError, whose place is the caller's to say, for shapes
// that do not agree, parts outside of a tensor, a view_reshape of what is not compact.
Item call_storage(relax::StorageOp op, const relax::CallNode& call, const std::vector<Item>& args);

}  // namespace tapml::interp
