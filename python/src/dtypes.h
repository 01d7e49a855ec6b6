// Element types in Python's notations.
#pragma once

#include "binding.h"
#include "tensor/dtype.h"

namespace tapml::python {

// "f32", "float32", numpy.float32, numpy.dtype("<f4"), torch.float32, float, bool. UserError that
// names `where` for anything else.
DType dtype_of(const py::object& dtype, const char* where);

// The dtype of a NumPy array's elements in native byte order; UserError for dtypes that tapml lacks
// (complex numbers, texts, records, ...).
DType from_numpy(const py::object& numpy_dtype, const char* where);

// The numpy.dtype of the same elements: that of ml_dtypes for bf16. UserError if it is not
// installed.
py::object to_numpy(DType dtype);

}  // namespace tapml::python
