// The calls of a module's functions.
#pragma once

#include <set>
#include <string>

#include "ir/module.h"

namespace tapml::fuzz {

int count_calls(const Module& module);
// The operators that the module calls.
std::set<std::string> called_operators(const Module& module);

}  // namespace tapml::fuzz
