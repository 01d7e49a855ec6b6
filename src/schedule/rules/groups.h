// Iterators that are groups and places in them. Private to schedule/.
#pragma once

#include "schedule/stage.h"

namespace tapml::schedule {

// Spatial iterators v whose value counts by v // c, a constant that divides the extent, cut into
// v // c and v % c (as in products of groups): the second is then a dimension that some operands do
// not have. The points and their values stay.
Stage split_groups(const Stage& stage);

// A reduction's only iterator k, of constant extent, whose value counts by k // c and k % c: cut so
// that every quotient and rest is made of whole iterators (k // 32, k // 2, k % 2: three of them).
// As it was where the divisors do not divide each other and the extent.
Stage split_steps(const Stage& stage);

}  // namespace tapml::schedule
