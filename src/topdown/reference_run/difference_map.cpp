#include "topdown/reference_run/difference_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rounding.h"

namespace tapml::topdown {

namespace {

// A picture needs no more digits, and files that keep it stay small.
double three_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double unit = std::pow(10, 2 - std::floor(std::log10(std::abs(value))));
  // The unit of a denormal may be infinite.
  return std::isfinite(unit) ? std::round(value * unit) / unit : value;
}

}  // namespace

DifferenceMap difference_map(const HostTensor& value, const op::RefTensor& reference,
                             const Slack& slack, const Tolerance* tolerance) {
  DifferenceMap map;
  map.shape = value.shape();
  map.width = map.shape.empty() ? 1 : map.shape.back();
  map.height = map.width == 0 ? 0 : value.size() / map.width;
  map.block_height = std::max<int64_t>(1, ceil_div(map.height, DifferenceMap::kMostBlocks));
  map.block_width = std::max<int64_t>(1, ceil_div(map.width, DifferenceMap::kMostBlocks));
  map.rows = ceil_div(map.height, map.block_height);
  map.columns = ceil_div(map.width, map.block_width);
  map.blocks.assign(static_cast<size_t>(map.rows * map.columns), DifferenceMap::kNotCompared);
  for (int64_t i = 0; i < value.size(); ++i) {
    if (!reference.wants(static_cast<size_t>(i))) continue;
    const ElementError one = element_error(value, reference, i, slack, tolerance);
    const double ratio = one.mask_mismatch ? std::numeric_limits<double>::infinity() : one.ratio;
    const int64_t row = i / map.width, column = i % map.width;
    double& block = map.blocks[static_cast<size_t>(row / map.block_height * map.columns +
                                                   column / map.block_width)];
    block = std::max(block, ratio);
    if (ratio <= 1) continue;
    if (map.outside++ == 0) {
      map.first_row = row;
      map.first_column = map.last_column = column;
    }
    map.last_row = row;
    map.first_column = std::min(map.first_column, column);
    map.last_column = std::max(map.last_column, column);
  }
  for (double& block : map.blocks) {
    // Rounding must not move a value into its bound.
    const double rounded = three_digits(block);
    block = block > 1 && rounded <= 1 ? block : rounded;
  }
  return map;
}

}  // namespace tapml::topdown
