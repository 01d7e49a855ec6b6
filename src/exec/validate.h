// Whether an executable from any source is safe to run.
#pragma once

#include "exec/executable.h"

namespace tapml {

// Ok if `executable` cannot mislead the virtual machine: enumerations hold known values, all
// indices (registers, slots, programs, kernels, modules, parameters, constants) are in range,
// scalar programs leave one value, calls match their signatures, names are unique, sizes are sane,
// jumps go forward and every path ends in a return. Else an InternalError that names the function
// or kernel and the field.
//
// Values are checked at run time: contents of registers, shapes, sizes.
Status validate(const Executable& executable);

}  // namespace tapml
