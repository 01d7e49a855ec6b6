// The functions of fuzz/language/library_functions.h as calls of the example library's routines
// (examples/library), which only the cpu has.
#pragma once

#include "fuzz/language/library_functions.h"

namespace tapml::testing {

using fuzz::library_functions;

// `module` with routine calls in place of the library functions that it has.
Module with_library_calls(const Module& module);

}  // namespace tapml::testing
