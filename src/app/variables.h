// Values and bounds of symbolic variables that users give by name.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "ir/module.h"

namespace tapml::app {

// Adds upper bounds of symbolic variables ("n": 512); smaller bounds in the module are kept.
void add_bounds(const std::map<std::string, int64_t>& bounds, Module& module);

// UserError if `values`, given by the option `option`, has a name that is no symbolic variable of
// the module, neither as read nor as `planned` (passes introduce variables for unnamed sizes).
void check_variables(const std::map<std::string, int64_t>& values, const std::string& option,
                     const Module& module, const Module& planned);

// Warns of bounds in the module for variables that it does not have. This is not an error: passes
// may have removed the last use of one, and their output is read again.
void warn_of_unused_bounds(const Module& module, const Module& planned, const std::string& source);

}  // namespace tapml::app
