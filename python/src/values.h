// Arguments and results of compiled functions.
#pragma once

#include "exec/executable.h"
#include "runtime/value.h"
#include "tensor.h"

namespace tapml::python {

// A Python object as an argument. `check` says what the function wants there and may be null.
// UserError that names `where` for what no argument can be made of.
runtime::Value to_value(const py::object& x, const ValueCheck* check, const SessionRef& open,
                        const std::string& where);

// Tensors, tuples, numbers; a shape is a tuple of integers. Function values stay opaque.
py::object from_value(const SessionRef& open, const runtime::Value& value);

// What `function` says of its parameter; null where it says nothing.
const ValueCheck* check_of_parameter(const VmFunction& function, size_t parameter);

// Tensors in it, in order.
void collect_tensors(const runtime::Value& value, std::vector<runtime::Tensor>& tensors);

void bind_values(py::module_& module);

}  // namespace tapml::python
