// Which constructs of the graph language a program contains, and how the compiler implemented it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "exec/executable.h"
#include "ir/module.h"

namespace tapml::testing {

// How often each construct occurs: operators by name, others as words ("if", "loop", "match_cast").
using Constructs = std::map<std::string, int>;

void count_constructs(const Module& module, Constructs& counts);

// "cut out by a pattern": what the pass `match` made.
void count_matches(const Module& matched, Constructs& counts);
// "library:onednn": kernels that routines implement.
void count_routines(const Executable& executable, Constructs& counts);

// Each of `names` occurs.
void expect_all(const Constructs& counts, const std::vector<std::string>& names);
// Names as in count_routines() for the installed libraries.
std::vector<std::string> libraries_here();

}  // namespace tapml::testing
