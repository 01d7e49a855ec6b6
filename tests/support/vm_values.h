// Values of the interpreter as values of the virtual machine, and back.
#pragma once

#include "exec/executable.h"
#include "interp/interpreter.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::testing {

// Tensors are uploaded; functions are those of the executable by their names. Throws where that
// fails.
runtime::Value to_machine(runtime::Session& session, const Executable& executable,
                          const interp::Value& value);
// Tensors are downloaded; of a closure the name of its function is kept.
interp::Value from_machine(const runtime::Value& value);

// The table as the machine's, for the packed functions of `executable`, which must outlive it.
runtime::HostFunctions machine_functions(const Executable& executable,
                                         const interp::HostFunctions& table);

}  // namespace tapml::testing
