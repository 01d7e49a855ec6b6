// Which constructs of the graph language a program has, and what the compiler made of it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "ir/module.h"

namespace tapml::testing {

// How often each construct occurs: operators by their names, the others in words ("if", "loop",
// "match_cast").
using Constructs = std::map<std::string, int>;

void count_constructs(const Module& module, Constructs& counts);

// "cut out by a pattern": what the pass `match` made.
void count_matches(const Module& matched, Constructs& counts);
// "library:onednn": kernels that routines implement.
void count_routines(const Executable& executable, Constructs& counts);

// Each of `names` occurs.
void expect_all(const Constructs& counts, const std::vector<std::string>& names);
// Names of count_routines() for the libraries of this machine.
std::vector<std::string> libraries_here();

}  // namespace tapml::testing
