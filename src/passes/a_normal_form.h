// Nested expressions become bindings.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "ir/module.h"

namespace tapml::passes {

// The bindings that a nested expression became, (function, variable), by the variable of the
// binding that it stood in; "" for one that stood in a result.
using NestedBindings = std::map<std::pair<std::string, std::string>, std::string>;

// Binds every operand, condition and result that is a call, a projection, an if or a function to a
// variable of its own, in the order in which they are evaluated: operands from left to right,
// inside out. Sequences that stand where a value is expected are spliced in, branches that are
// values become sequences. The new variables have the annotations that are deduced for them, Object
// where nothing can be. Requires nothing: this is what a person's text goes through first. Kernels
// and patterns too are rewritten. `nested` hears of the new bindings.
Module a_normal_form(const Module& module, NestedBindings* nested);
Module a_normal_form(const Module& module);

}  // namespace tapml::passes
