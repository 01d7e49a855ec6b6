// Patterns (docs/patterns.md) for programs made by chance.
#pragma once

#include <string>
#include <vector>

#include "base/rng.h"
#include "ir/module.h"

namespace tapml::testing {

// Adds at most `most` patterns to a module, each made of connected calls of one of its dataflow
// blocks, so that it matches there: parameters in place of what comes from outside, annotations and
// attributes that say some of what is known, other operators beside some of its own.
void add_random_patterns(Module& module, RandomStream& rng, int most);

// Names of the module's patterns that match nowhere in it.
std::vector<std::string> patterns_without_match(const Module& module);

}  // namespace tapml::testing
