// Where a function's values have their last use.
#pragma once

#include <map>
#include <vector>

#include "relax/expr.h"

namespace tapml::interp {

// Variables by the binding of `body` after which nothing uses them: that binding is the last that
// uses them, or theirs if none does. Branches and lambdas of a binding, with their own variables,
// are part of it. Leaves out what the body returns.
using LastUses = std::map<const relax::Binding*, std::vector<const relax::VarNode*>>;
LastUses last_uses(const relax::SeqNode& body);

}  // namespace tapml::interp
