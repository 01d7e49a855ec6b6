// Splits iterators into groups and offsets within groups. Private to schedule/.
#pragma once

#include "schedule/stage.h"

namespace tapml::schedule {

// Splits spatial iterators v that are used as v // c, with a constant c that divides the extent,
// into v // c and v % c (as in grouped products), so that some operands do not depend on the second
// one. The points and their values do not change.
Stage split_groups(const Stage& stage);

// The same of the last iterator of a stage without a reduction, if a group has a vector's elements:
// what depends on the group alone is read once for all of its points.
Stage split_lanes(const Stage& stage);

// Splits a reduction's only iterator k, of constant extent, that is used as k // c and k % c, such
// that every quotient and remainder consists of whole iterators (k // 32, k // 2, k % 2: three of
// them). Returns the stage unchanged if the divisors do not divide each other and the extent.
Stage split_steps(const Stage& stage);

}  // namespace tapml::schedule
