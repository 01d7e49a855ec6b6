// Conversion between the values of the interpreter and of the virtual machine.
#pragma once

#include "exec/executable.h"
#include "interp/interpreter.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::fuzz {

// Uploads tensors; functions are those of the executable, by name. Throws on failure.
runtime::Value to_machine(runtime::Session& session, const Executable& executable,
                          const interp::Value& value);
// Downloads tensors; a closure becomes the name of its function.
interp::Value from_machine(const runtime::Value& value);

// The table in the VM's form, for the packed functions of `executable`, which must outlive it.
runtime::HostFunctions machine_functions(const Executable& executable,
                                         const interp::HostFunctions& table);

}  // namespace tapml::fuzz
