// Arguments for any function of a module, from its signature only; and comparison of results.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/rng.h"
#include "interp/interpreter.h"
#include "relax/expr.h"
#include "support/within_bounds.h"

namespace tapml::testing {

// Small arguments that fit the signature of `function`, if they are easy to find: symbolic
// variables get values from 0 to `largest`, dimensions stay below 100. Tensors hold few distinct
// numbers. Null if a parameter has no such value.
std::optional<std::vector<interp::Value>> random_arguments(const Module& module,
                                                           const relax::Function& function,
                                                           RandomStream& rng, int largest = 4);

// Where `found` differs from the reference's value by more than the bounds of both, or has open
// elements beyond those of `open`; empty if it does not. Functions are not compared.
std::string difference_beyond_bounds(const interp::Value& expected, const interp::Value& found,
                                     const OpenElements& open);

}  // namespace tapml::testing
