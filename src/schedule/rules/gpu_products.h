// The two ways that work groups multiply. Private to schedule/.
#pragma once

#include "schedule/rules/gpu_groups.h"
#include "schedule/rules/panels.h"

namespace tapml::schedule {

// Each element by several threads that split its sum: for a row or few, where there are too few
// elements to keep a device busy. None where the sum is short.
std::optional<GroupWork> few_row_product(const Stage& stage, const Group& group);

// Tiles: a thread has some rows of some columns in registers, the group steps through the sum with
// a piece of the left operand in local memory, and of the right one where that lies along the sum.
std::optional<GroupWork> many_row_product(const Stage& stage, const Product& product,
                                          const Group& group);

}  // namespace tapml::schedule
