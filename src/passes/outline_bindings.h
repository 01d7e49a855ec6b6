// Bindings become a function.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Each entry "name = first..last" of a function's attribute "outline" cuts the bindings from the
// variable `first` to the variable `last`, neighbours in one block, out into a function "name" and
// calls it there; without "name =" it is called "<function>_<last>". Its parameters are the
// variables that the bindings take from around them, then a shape with the symbolic variables that
// these do not give; it returns what is used behind the bindings, several values as a tuple. The
// attribute goes. inline_functions is the way back.
//
// UserError for an entry that names no such bindings, for bindings that hand on a function or a
// symbolic variable of a match_cast, and for those that update a value from around them in place.
Module outline_bindings(const Module& module);

}  // namespace tapml::passes
