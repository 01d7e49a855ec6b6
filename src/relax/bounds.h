// What the program promises of its symbolic variables.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "ir/module.h"
#include "relax/expr.h"

namespace tapml::relax {

// The most that the symbolic variable called `name` may be in `function`, by the attribute
// "bound.<name>" of the function or the module, the lower of both; nothing where there is none.
std::optional<int64_t> bound_of(const std::string& name, const Module& module,
                                const Function& function);

// Whether a variable called `name` that has the value `value` is known to be within its bound:
// where it is a constant or a variable of that name, which is checked itself.
bool keeps_bound(const PrimExpr& value, const std::string& name, int64_t most);

// Names of the symbolic variables of a function and of the lambdas inside.
std::set<std::string> symbol_names(const Function& function);

}  // namespace tapml::relax
