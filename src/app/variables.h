// What users say of symbolic variables, by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/module.h"

namespace tapml::app {

// The most that symbolic variables can be ("n": 512); the module's own bounds stay where they are
// less.
void add_bounds(const std::map<std::string, int64_t>& bounds, Module& module);

// UserError where `values`, given as `option`, has a name that is no symbolic variable of the
// module, neither as it was read nor as it was `planned` (passes give sizes that nobody named
// variables of their own).
void check_variables(const std::map<std::string, int64_t>& values, const std::string& option,
                     const Module& module, const Module& planned);

// Warns of bounds that the module states of variables that it does not have. No error: passes may
// have removed the last use of one, and their text is read again.
void warn_of_unused_bounds(const Module& module, const Module& planned, const std::string& source);

}  // namespace tapml::app
