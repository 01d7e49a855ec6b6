// Summary of an executable, for dumps. Private to pipeline/.
#pragma once

#include <string>

#include "exec/executable.h"

namespace tapml::pipeline {

// A line for each module of code and each function:
//   module 0: opencl, opencl-c, 1234 bytes: exp_a9f8d298_0
//   function main: 12 instructions, 4 registers
std::string executable_text(const Executable& executable);

}  // namespace tapml::pipeline
