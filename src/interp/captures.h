// What lambdas capture.
#pragma once

#include <vector>

#include "relax/expr.h"

namespace tapml::interp {

// What a lambda uses of what stands around it. Of the symbolic variables all that it mentions:
// those that are its own have no value where it is made.
struct Free {
  std::vector<const relax::VarNode*> vars;
  std::vector<const tapml::ExprNode*> symbols;
};

// `self` is the variable that the lambda is bound to; may be null.
Free free_of(const relax::Function& function, const relax::VarNode* self);

}  // namespace tapml::interp
