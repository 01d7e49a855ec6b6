// Specializes functions for given shapes.
#pragma once

#include <map>
#include <string>

#include "ir/module.h"

namespace tapml::passes {

// By function, by variable: {"main": {"n": 128}}.
using ShapeValues = std::map<std::string, std::map<std::string, int64_t>>;

// `function` with symbolic variables of its parameters replaced by values: {"n": 128}. Everything
// that depends on them becomes static, with the schedules and plans that static shapes allow. Other
// callers of the function then need arguments of these shapes, checked like any others. UserError
// for a function that does not exist or is a kernel, for a variable that its parameters do not
// have, and for a negative value.
Module specialize(const Module& module, const std::string& function,
                  const std::map<std::string, int64_t>& values);

// specialize() for each function, then partial_evaluate(): branches, calls and loops that the
// values decide are decided.
Module bind_shapes(const Module& module, const ShapeValues& values);

}  // namespace tapml::passes
