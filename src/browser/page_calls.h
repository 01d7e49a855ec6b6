// Calls of an executable's functions and kernels by a page.
#pragma once

#include <span>
#include <vector>

#include "io/json.h"
#include "runtime/local_virtual_machine.h"

namespace tapml::browser {

// Lists of {"name": ..., "params": [...]}, each parameter with its name, and where they are known
// dtype, dims (numbers, and texts such as "n") and, of a kernel's, its mode. Kernels have "scalars"
// too: the names of the values that dims depend on.
Json functions_json(const Executable& executable);
Json kernels_json(const Executable& executable);

// Answers a request: an object with "arguments", a list of values (page_values.h), whose tensors
// are in `bytes`, and either "function", its name, or "kernel" and optional "scalars", an object.
// Returns the result, whose tensors are in `output`. The arguments of a kernel are its inputs in
// order, mode inout included; its result is a tuple of the outputs, mode inout included. Scalars
// that are a dimension of an input need not be given.
//
// UserError for an unknown name, and for arguments that do not fit: their number, dtype, shape.
// Errors of the device.
Result<Json> call_by_page(runtime::LocalVirtualMachine& machine, const Json& request,
                          std::span<const std::byte> bytes, std::vector<std::byte>& output);

}  // namespace tapml::browser
