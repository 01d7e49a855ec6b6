// A picture, in few blocks, of where an output is wrong.
#pragma once

#include <vector>

#include "topdown/reference_run/compare.h"

namespace tapml::topdown {

// An output as a matrix: its last dimension is the width, all others are the height.
struct DifferenceMap {
  static constexpr int64_t kMostBlocks = 64;  // along either side

  Shape shape;
  int64_t height = 0, width = 0;              // in elements
  int64_t block_height = 0, block_width = 0;  // elements of a block; the last ones may be smaller
  int64_t rows = 0, columns = 0;              // in blocks
  // rows x columns: the largest error over bound in the block, to three digits. Infinity also for
  // unexpected NaN and infinite elements, kNotCompared for a block without compared elements.
  std::vector<double> blocks;
  static constexpr double kNotCompared = -1;

  int64_t outside = 0;  // elements outside of their bounds
  // The smallest rectangle of elements that contains them, both ends included; -1: none.
  int64_t first_row = -1, last_row = -1, first_column = -1, last_column = -1;
};

// `slack` and `tolerance` as in element_error().
DifferenceMap difference_map(const HostTensor& value, const op::RefTensor& reference,
                             const Slack& slack, const Tolerance* tolerance = nullptr);

}  // namespace tapml::topdown
