// Checks the consistency of a suite's kernels and calls.
#pragma once

#include <string>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Checks that every spec has the name and signature of its kernel, and that the scalars and tensors
// of every call fit it. UserError that names `file` and the kernel otherwise.
Status check_suite(const Suite& suite, const std::string& file);

}  // namespace tapml::topdown
