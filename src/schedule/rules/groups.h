// Iterators that are a group and a place in it. Private to schedule/.
#pragma once

#include "schedule/stage.h"

namespace tapml::schedule {

// Spatial iterators v whose value counts by v // c, a constant that divides the extent, cut into
// v // c and v % c (as in products of groups): the second is then a dimension that some operands do
// not have. The points and their values stay.
Stage split_groups(const Stage& stage);

}  // namespace tapml::schedule
