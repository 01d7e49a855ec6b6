// How a function accesses its arguments.
#pragma once

#include <vector>

#include "exec/executable.h"

namespace tapml {

// For each parameter, whether a call may write its argument. False only if the function itself
// shows that every use is a read, as for weights. Returning the argument counts as neither.
// `function` must belong to an executable that passed validate().
std::vector<bool> written_parameters(const Executable& executable, const VmFunction& function);

}  // namespace tapml
