// Python's view of the verdict on a kernel.
#pragma once

#include "binding.h"
#include "topdown/results/kernel_verdict.h"

namespace tapml::python {

struct Verdict {
  topdown::KernelVerdict verdict;
};

// json.loads of the document.
py::object parsed(const Json& json);

}  // namespace tapml::python
