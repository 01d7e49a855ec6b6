// Which constructs of the graph language a program contains.
#pragma once

#include <set>
#include <string>

#include "ir/module.h"

namespace tapml::fuzz {

// Operators by name, others as words: "if", "loop", "match_cast".
std::set<std::string> constructs_of(const Module& module);

}  // namespace tapml::fuzz
