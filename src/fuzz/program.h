// A random program and the arguments that it takes.
#pragma once

#include <vector>

#include "interp/interpreter.h"
#include "ir/module.h"

namespace tapml::fuzz {

// `main` of the module runs without an error with these arguments.
struct Program {
  Module module;
  std::vector<interp::Value> arguments;
};

// Packed functions that programs may call: "test.double", a tensor times 2.
interp::HostFunctions packed_functions();

}  // namespace tapml::fuzz
