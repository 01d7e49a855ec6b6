// What tests of a kernel said, as Python shows it.
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
