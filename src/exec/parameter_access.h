// What a function does with its arguments.
#pragma once

#include <vector>

#include "exec/executable.h"

namespace tapml {

// By parameter: whether a call may write what is passed for it. False where all that is done with
// it is seen in the function itself and is reading: weights, above all. A result that is the
// argument is none of that. `function` is one of an executable that passed validate().
std::vector<bool> written_parameters(const Executable& executable, const VmFunction& function);

}  // namespace tapml
