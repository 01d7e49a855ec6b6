// Binds nested expressions to variables.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "ir/module.h"

namespace tapml::passes {

// (function, variable) of each binding made from a nested expression, by the variable of the
// binding that contained it; "" for one that a result contained.
using NestedBindings = std::map<std::pair<std::string, std::string>, std::string>;

// Binds every operand, condition and result that is a call, a projection, an if or a function to a
// new variable, in evaluation order: operands from left to right, innermost first. Sequences used
// as values are spliced in; branches that are values become sequences. The new variables have their
// deduced annotations, or Object where nothing can be deduced. Requires nothing: this is the first
// pass over hand-written text. Also rewrites kernels and patterns. `nested` receives the new
// bindings.
Module a_normal_form(const Module& module, NestedBindings* nested);
Module a_normal_form(const Module& module);

}  // namespace tapml::passes
