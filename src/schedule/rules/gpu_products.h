// Matrix products on work groups. Private to schedule/.
#pragma once

#include "schedule/rules/gpu_groups.h"
#include "schedule/rules/panels.h"

namespace tapml::schedule {

// Several threads split the sum of each element: for one row or a few, when there are too few
// elements to fill a device. nullopt if the sum is short.
std::optional<GroupWork> few_row_product(const Stage& stage, const Group& group);

// Tiles: a thread keeps some rows and columns in registers; the group steps through the sum with a
// piece of the left operand in local memory, and of the right one if it is contiguous along the
// sum.
std::optional<GroupWork> many_row_product(const Stage& stage, const Product& product,
                                          const Group& group);

}  // namespace tapml::schedule
