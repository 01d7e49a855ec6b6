// A random program and the arguments that it takes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
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

// The values of the symbolic variables of main's signature in a call, by name, for variables that
// are a whole dimension.
std::map<std::string, int64_t> extents_of(const Module& module,
                                          const std::vector<interp::Value>& arguments);

// Whether every float of the value is finite.
bool is_finite(const interp::Value& value);

}  // namespace tapml::fuzz
