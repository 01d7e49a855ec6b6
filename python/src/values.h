// Arguments and results of compiled functions.
#pragma once

#include "exec/executable.h"
#include "runtime/value.h"
#include "tensor.h"

namespace tapml::python {

// Converts a Python object to an argument. `check` describes the expected parameter and may be
// null. UserError that names `where` for unsupported objects.
runtime::Value to_value(const py::object& x, const ValueCheck* check, const SessionRef& open,
                        const std::string& where);

// Tensors, tuples, numbers; a shape is a tuple of integers. Function values stay opaque.
py::object from_value(const SessionRef& open, const runtime::Value& value);

// The tensors in it, in order.
void collect_tensors(const runtime::Value& value, std::vector<runtime::Tensor>& tensors);

void bind_values(py::module_& module);

}  // namespace tapml::python
