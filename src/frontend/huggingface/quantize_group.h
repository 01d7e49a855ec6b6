// Quantizes a group of adjacent elements to integer levels with the scale, and the minimum where a
// layout has one, that leave little error.
#pragma once

#include <cstdint>
#include <span>

#include "models/quantization.h"

namespace tapml::frontend {

// The levels of a layout: those of groups without a minimum are on both sides of 0, and so are
// those of whole bytes.
struct LevelRange {
  int lowest, highest;
};
LevelRange level_range(const models::WeightLayout& layout);

struct GroupScale {
  float scale, minimum;  // of the layout's dtype; infinite if it can represent none
};

// Quantizes `group.size()` finite elements, as many as a group of the layout has: writes a level
// for each. The error is the sum of squares of level * scale + minimum - element.
//
// Without a minimum, the plain scale maps the element of the largest magnitude to the lowest level,
// whatever its sign. Twenty scales around it are tried: each gives levels, which have a best scale
// of their own (least squares). The best of these is used if, once rounded to the dtype, its error
// is below that of the plain scale. With a minimum, the plain scale and minimum map the extremes to
// the extreme levels, and both are fitted.
GroupScale quantize_group(std::span<const float> group, const models::WeightLayout& layout,
                          std::span<int8_t> levels);

}  // namespace tapml::frontend
