// Patterns (docs/patterns.md) for random programs.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "ir/module.h"

namespace tapml::fuzz {

// Adds at most `most` patterns to a module. Each consists of connected calls of one of its dataflow
// blocks, so that it matches there: parameters replace outside values, annotations and attributes
// state part of what is known, and alternatives include other operators.
void add_random_patterns(Module& module, RandomStream& rng, int most);

// Names of the module's patterns that match nowhere in it.
std::vector<std::string> patterns_without_match(const Module& module);

}  // namespace tapml::fuzz
