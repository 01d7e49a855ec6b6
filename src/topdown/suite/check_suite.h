// Whether what a suite says about its kernels holds together.
#pragma once

#include <string>

#include "topdown/suite/suite.h"

namespace tapml::topdown {

// Every spec is a kernel of the suite's name and signature, and every call's scalars and tensors
// fit it. UserError that names `file` and the kernel otherwise.
Status check_suite(const Suite& suite, const std::string& file);

}  // namespace tapml::topdown
