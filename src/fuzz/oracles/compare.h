// Compares results with the reference evaluator's values and error bounds (docs/verdicts.md).
#pragma once

#include <cstdint>
#include <string>

#include "interp/interpreter.h"

namespace tapml::fuzz {

// How many elements were compared, and how many of them are open: any value is within their bound.
struct Tally {
  int64_t open = 0, all = 0;
};

// Where `found` differs from `expected` by more than the bounds of both; empty if it does not.
// Functions are not compared. Element texts name the first element that differs.
std::string difference(const interp::Value& expected, const interp::Value& found, Tally& tally);

// How a result of difference() differs, in a word or two: "type", "NaN", "infinity", "rounding" (by
// less than a hundredth), "values".
std::string difference_kind(const std::string& difference);

}  // namespace tapml::fuzz
