// Outlines chosen bindings as functions.
#pragma once

#include "ir/module.h"

namespace tapml::passes {

// Each entry "name = first..last" of a function's attribute "outline" moves the bindings from the
// variable `first` to the variable `last`, adjacent in one block, into a function "name" and calls
// it at their position; without "name =" the function is called "<function>_<last>". Its parameters
// are the outer variables that the bindings use, then a shape with the symbolic variables that
// these do not give; it returns the values used after the bindings, several as a tuple. Removes the
// attribute. inline_functions is the inverse.
//
// UserError for an entry that matches no bindings, for bindings whose used values include a
// function or a symbolic variable of a match_cast, and for those that update an outer value in
// place.
Module outline_bindings(const Module& module);

}  // namespace tapml::passes
