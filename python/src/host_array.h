// Python arrays as elements in host memory.
#pragma once

#include <optional>
#include <string>

#include "dlpack.h"
#include "dtypes.h"
#include "tensor/host_tensor.h"

namespace tapml::python {

// The elements of an array.
struct TakenArray {
  HostArray array;     // compact
  std::string copied;  // why its elements had to be copied; empty if `array` is x's own memory
};

// A NumPy array, anything with __dlpack__ (a PyTorch tensor), or an argument of numpy.asarray(), as
// `dtype` if given. UserError that names `where` for dtypes that tapml lacks.
TakenArray take_array(const py::object& x, std::optional<DType> dtype, const char* where);

// The array as a tensor that keeps its owner alive.
HostTensor as_tensor(const HostArray& array);

// A NumPy array over the tensor's bytes, read-only unless `writable`.
py::object as_numpy(const HostTensor& tensor, std::shared_ptr<const void> owner, bool writable);

void bind_memory(py::module_& module);

// Elements rounded to another dtype.
HostTensor converted(const HostTensor& tensor, DType dtype);

}  // namespace tapml::python
