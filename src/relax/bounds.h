// Upper bounds of symbolic variables that the program declares.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::relax {

// The upper bound of the symbolic variable `name` in `function`: the attribute "bound.<name>" of
// the function or the module, whichever is lower; std::nullopt if there is none.
std::optional<int64_t> bound_of(const std::string& name, const Module& module,
                                const Function& function);

// Whether a variable `name` with the value `value` is known to be within its bound: a constant, or
// a variable of that name, which is itself checked.
bool keeps_bound(const PrimExpr& value, const std::string& name, int64_t most);

// Names of the symbolic variables of a function and of its lambdas.
std::set<std::string> symbol_names(const Function& function);

}  // namespace tapml::relax
