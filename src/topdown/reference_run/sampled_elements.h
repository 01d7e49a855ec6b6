// Which elements of an output are compared if the reference is too costly for all of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tensor/host_tensor.h"

namespace tapml::topdown {

// Elements that are drawn at random, and those where source and target differ most. Draws may be
// more.
inline constexpr int64_t kDrawnElements = 2048, kDifferingElements = 2048;

// Flags of the elements to compare, as op::RefTensor::wanted has them. The draws cover
// - each row (the last dimension is the width of a row), or each of kMostGroups groups of
//   neighboring rows, and so each head and tile of rows that is not smaller;
// - each group of 16 columns, or each of kMostGroups groups, and so each head and tile of columns;
// - the first and the last row and column, where tails are, in kEnds places;
// - rows of each value of an integer input that has one for each row, or one for each group of
//   adjacent rows: of each expert that `choices` name.
// `source` and `target` have the same shape, and more than kDrawnElements + kDifferingElements
// elements. The same `seed` gives the same draws.
std::vector<uint8_t> sampled_elements(const HostTensor& source, const HostTensor& target,
                                      const std::vector<HostTensor>& choices,
                                      const std::string& seed);

}  // namespace tapml::topdown
