// The order of columns that makes the groups of a matrix quantized by activation order contiguous.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "frontend/quantized/layer_tensors.h"

namespace tapml::frontend {

// Of the tensor `suffix`, i32[inputs], which has the group of each input: the inputs sorted by
// their groups of `size`; empty if they already are. UserError for a group that does not exist and
// for groups of another size, except the last one.
std::vector<int32_t> read_group_order(LayerTensors& tensors, std::string_view suffix,
                                      int64_t inputs, int64_t size);

}  // namespace tapml::frontend
