#include "frontend/quantized/group_order.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <string>

#include "base/rounding.h"

namespace tapml::frontend {

std::vector<int32_t> read_group_order(LayerTensors& tensors, std::string_view suffix,
                                      int64_t inputs, int64_t size) {
  const HostTensor index = tensors.take(suffix, {"I32"}, {inputs}).tensor;
  const std::span<const int32_t> groups = index.values<int32_t>();
  const int64_t count = ceil_div(inputs, size);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] >= 0 && groups[i] < count) continue;
    tensors.refuse(suffix, "names a group that does not exist", "0 to " + std::to_string(count - 1),
                   std::to_string(groups[i]) + " for input " + std::to_string(i));
  }
  std::vector<int32_t> order(groups.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, {}, [&](int32_t i) { return groups[static_cast<size_t>(i)]; });
  for (size_t i = 0; i < order.size(); ++i) {
    const int64_t expected = static_cast<int64_t>(i) / size;
    if (groups[static_cast<size_t>(order[i])] == expected) continue;
    tensors.refuse(suffix, "has groups of different sizes",
                   std::to_string(size) + " inputs in each group",
                   "another number in group " + std::to_string(expected));
  }
  if (std::ranges::is_sorted(order)) order.clear();
  return order;
}

}  // namespace tapml::frontend
