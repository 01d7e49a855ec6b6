// DLPack, the exchange format of arrays in memory (https://dmlc.github.io/dlpack/latest/).
#pragma once

#include <vector>

#include "binding.h"
#include "tensor/host_tensor.h"

namespace tapml::python {

// Elements in host memory, strided; `owner` keeps them alive.
struct HostArray {
  DType dtype = DType::kF32;
  Shape shape;
  std::vector<int64_t> strides;  // elements; empty: compact, row-major
  std::byte* data = nullptr;
  bool writable = true;
  std::shared_ptr<const void> owner;

  bool compact() const;
};

// Imports the result of x.__dlpack__(). UserError that names `where` for memory of another device,
// for dtypes that tapml lacks, and if x itself refuses.
HostArray take_dlpack(const py::object& x, const char* where);

// A capsule "dltensor" of host memory.
py::capsule give_dlpack(HostArray array);

}  // namespace tapml::python
