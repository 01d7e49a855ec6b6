// Arguments for any function of a module, by its signature alone; and results compared.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "interp/interpreter.h"
#include "relax/expr.h"

namespace tapml::testing {

// Small arguments that fit the signature of `function`, where that is easily done: symbolic
// variables get values from 0 to `largest`, dimensions stay below 100. Tensors hold few different
// numbers. Null where a parameter has no such value.
std::optional<std::vector<interp::Value>> random_arguments(const Module& module,
                                                           const relax::Function& function,
                                                           RandomStream& rng, int largest = 4);

// Where `found` is another value than the reference's, beyond the bounds of both; else empty. Of
// functions nothing is compared.
std::string difference_beyond_bounds(const interp::Value& expected, const interp::Value& found);

}  // namespace tapml::testing
