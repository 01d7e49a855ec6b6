// Arguments of a program as text: a module whose function `inputs` returns a tuple of literals.
#pragma once

#include <vector>

#include "interp/interpreter.h"
#include "ir/module.h"

namespace tapml::fuzz {

// Functions are those of the program, by name. InternalError for a closure.
Module values_module(const std::vector<interp::Value>& values);
// The inverse; UserError for a module without such a function.
std::vector<interp::Value> values_of(const Module& module, const std::string& source);

}  // namespace tapml::fuzz
