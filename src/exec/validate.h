// Whether an executable, from wherever it came, is safe to run.
#pragma once

#include "exec/executable.h"

namespace tapml {

// Ok when the virtual machine cannot be led astray by `executable`: enumerations hold known values,
// all indices (registers, slots, programs, kernels, modules, parameters, constants) are in range,
// scalar programs leave one value, calls pass what the signatures ask for, names are unique, sizes
// are sane, jumps go forward and every path ends in a return. Else an InternalError that names the
// function or kernel and the field.
//
// Values are left to run time: what a register holds, shapes, sizes.
Status validate(const Executable& executable);

}  // namespace tapml
