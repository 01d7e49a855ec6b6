// Functions whose work a routine library can do, and a library that does it.
#pragma once

#include "ir/module.h"
#include "library/routine_table.h"

struct tapml_library;

namespace tapml::fuzz {

// @library_scale(x) and @library_swiglu(gate, up), on f32 tensors with two dimensions, as
// operators.
const Module& library_functions();
// Whether the module has one of them.
bool has_library_functions(const Module& module);
// `module` with calls of routines in place of the functions that it has.
Module with_routine_calls(const Module& module);

// The library as a user would write it (docs/libraries.md): for the device, and for the compiler.
const tapml_library& routine_table();
library::UserLibrary routine_library();

}  // namespace tapml::fuzz
